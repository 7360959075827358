#include "judge/bench/child.h"

#include <fmt/format.h>

#include <exception>
#include <limits>
#include <string>
#include <string_view>

#include "base/io/shown.h"
#include "judge/record/jsonl.h"

namespace pagoda::judge {
namespace {

constexpr double kNsPerSecond = 1e9;

// What a variant throws may be of any length.
std::string StoppedBy(std::string_view what) {
  constexpr size_t kMostShown = 500;
  return fmt::format("stopped with an error: {}", io::Shown(what, kMostShown));
}

class LaunchServer {
 public:
  LaunchServer(const LaunchPlan& plan, const ChildContext& context) : plan_(plan), context_(context) {}

  void Serve() {
    const int64_t begin = context_.now_ns();
    before_ = context_.sample_environment();
    const std::vector<std::unique_ptr<Arm>> slots = Prepare();
    const double setup_s = Since(begin);
    const LaunchMeasurement measured = RunProtocol(
        slots, plan_.protocol,
        {.now_ns = context_.now_ns, .about_to_run = [&](size_t slot) { Mark(plan_.slot_order[slot]); }});
    if (plan_.protocol.pilot) {
      WritePilot(measured, setup_s);
      return;
    }
    LaunchRecord record = Header();
    record.after = context_.sample_environment();
    record.elapsed_s = Since(begin);
    Fill(record, measured);
    context_.write_line(ToJsonLine(record));
  }

  void WriteCrash(std::string_view what) const {
    LaunchRecord record = Header();
    record.status = LaunchStatus::kCrashed;
    record.reason = StoppedBy(what);
    record.culprit = running_;
    context_.write_line(ToJsonLine(record));
  }

 private:
  std::vector<std::unique_ptr<Arm>> Prepare() {
    PrepareOptions options{.arms = {},
                           .seed = plan_.seed,
                           .threads = plan_.threads,
                           .cold = plan_.spec.cold,
                           .about_to_prepare = [&](size_t slot) { Mark(plan_.slot_order[slot]); }};
    for (const int arm : plan_.slot_order) options.arms.push_back(plan_.arms[arm]);
    return context_.subject.Prepare(plan_.spec, options);
  }

  void Mark(int arm) {
    running_ = plan_.arms[arm].variant;
    context_.mark(running_);
  }

  double Since(int64_t begin) const { return static_cast<double>(context_.now_ns() - begin) / kNsPerSecond; }

  LaunchRecord Header() const {
    LaunchRecord record;
    record.run_id = plan_.run_id;
    record.case_name = plan_.spec.name;
    record.launch = plan_.launch;
    record.attempt = plan_.attempt;
    record.seed = plan_.seed;
    record.cache = plan_.spec.cold ? "cold" : "warm";
    record.threads = plan_.threads;
    record.clock_resolution_ns = context_.clock_resolution_ns;
    record.before = before_;
    return record;
  }

  // Slots back to the order of the plan's arms.
  void Fill(LaunchRecord& record, const LaunchMeasurement& measured) const {
    record.calls_per_epoch = measured.calls;
    record.blocks = measured.blocks;
    record.slot_order = plan_.slot_order;
    record.arms.resize(plan_.arms.size());
    record.checks.resize(plan_.arms.size());
    for (size_t slot = 0; slot < plan_.slot_order.size(); ++slot) {
      const int arm = plan_.slot_order[slot];
      const ArmId& id = plan_.arms[arm];
      const ArmMeasurement& m = measured.arms[slot];
      ArmSamples& samples = record.arms[arm];
      samples.variant = id.variant;
      samples.link = id.link;
      for (const EpochTime& pass : m.passes) {
        samples.host_ns.push_back(pass.host_ns);
        samples.device_ns.push_back(pass.device_ns);
      }
      record.checks[arm] = {id.variant, id.link, m.check.passed, m.check.max_abs_error, m.check.fault};
    }
    for (const ArmCheck& check : record.checks) {
      if (check.passed || record.status != LaunchStatus::kOk) continue;
      record.status = LaunchStatus::kGateFailed;
      record.culprit = check.variant;
      record.reason = fmt::format("a check after the last timed call failed: {}", check.fault);
    }
  }

  void WritePilot(const LaunchMeasurement& measured, double setup_s) const {
    PilotResult pilot;
    pilot.calls = measured.calls;
    pilot.host_ns.resize(plan_.arms.size());
    for (size_t slot = 0; slot < plan_.slot_order.size(); ++slot) {
      pilot.host_ns[plan_.slot_order[slot]] = measured.arms[slot].warm.host_ns;
    }
    pilot.setup_s = setup_s;
    pilot.warmup_s = measured.warmup_ns / kNsPerSecond;
    pilot.checks_s = measured.checks_ns / kNsPerSecond;
    context_.write_line(ToJson(pilot));
  }

  const LaunchPlan& plan_;
  const ChildContext& context_;
  EnvironmentSample before_;
  std::string running_;
};

void Serve(const LaunchPlan& plan, const ChildContext& context) {
  LaunchServer server(plan, context);
  try {
    server.Serve();
  } catch (const std::exception& e) {
    // A pilot has no record to hold the error, so its caller sees it.
    if (plan.protocol.pilot) throw;
    server.WriteCrash(e.what());
  }
}

void Serve(const GatePlan& plan, const ChildContext& context) {
  for (const GateRun& run : plan.runs) {
    GateRecord record;
    record.run_id = plan.run_id;
    record.case_name = plan.spec.name;
    record.variant = run.variant;
    record.seed = run.seed;
    context.mark(record.variant);
    try {
      const GateResult result = context.subject.Gate(plan.spec, record.variant, record.seed, plan.threads);
      record.passed = result.passed;
      record.bitwise_repeatable = result.bitwise_repeatable;
      record.same_bits_as = result.same_bits_as;
      record.max_abs_error = result.max_abs_error;
      record.fault = result.fault;
    } catch (const std::exception& e) {
      record.max_abs_error = std::numeric_limits<double>::infinity();
      record.fault = StoppedBy(e.what());
    }
    context.write_line(ToJsonLine(record));
  }
}

}  // namespace

void ServePlan(const ChildPlan& plan, const ChildContext& context) {
  std::visit([&](const auto& p) { Serve(p, context); }, plan);
}

}  // namespace pagoda::judge
