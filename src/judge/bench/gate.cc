#include "judge/bench/gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "judge/record/jsonl.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

class Gate {
 public:
  Gate(std::string_view run_id, std::span<const GateCase> cases, int threads, double timeout_s,
       const GateHooks& hooks)
      : run_id_(run_id), cases_(cases), threads_(threads), timeout_s_(timeout_s), hooks_(hooks) {
    for (const GateCase& c : cases) summary_.total += std::ssize(c.variants) * std::ssize(kGateSeeds);
  }

  GateSummary Run(std::span<const GateRecord> earlier) {
    for (const GateCase& c : cases_) {
      GatePlan plan{.run_id = run_id_,
                    .spec = c.spec,
                    .variants = c.variants,
                    .seeds = {kGateSeeds.begin(), kGateSeeds.end()},
                    .first = 0,
                    .threads = threads_};
      // Records are appended in the order of the pairs, so what is there is a beginning.
      for (const GateRecord& record : earlier) {
        if (record.case_name != c.spec.name) continue;
        RequireNext(plan, record);
        Count(record);
        ++plan.first;
      }
      while (plan.first < plan.pairs()) {
        if (hooks_.stop() || !RunOnce(plan)) {
          summary_.interrupted = true;
          return summary_;
        }
      }
    }
    return summary_;
  }

 private:
  static void RequireNext(const GatePlan& plan, const GateRecord& record) {
    if (plan.first < plan.pairs()) {
      const GateRecord expected = Expected(plan);
      if (record.variant == expected.variant && record.seed == expected.seed) return;
    }
    throw Error(
        ErrorCode::kInvalidArgument, "--resume",
        fmt::format("finds the gate run of {} on {} with seed {} where another belongs: the records were "
                    "changed since they were written; start a new run in another directory",
                    record.variant, record.case_name, record.seed));
  }

  // One process from plan.first on; moves plan.first past what got a record. False: the user asked to stop.
  bool RunOnce(GatePlan& plan) {
    if (hooks_.progress) hooks_.progress(done_, summary_.total, plan.spec.name);
    const ChildOutcome outcome = hooks_.runner.Run(ToJson(plan), timeout_s_);
    std::string fault;
    try {
      for (const GateRecord& record : ParseRecords(outcome.out, "gate").gates) {
        if (plan.first == plan.pairs()) break;
        const GateRecord expected = Expected(plan);
        if (record.run_id != expected.run_id || record.case_name != expected.case_name ||
            record.variant != expected.variant || record.seed != expected.seed) {
          fault = "broke the protocol: its record is of another gate run";
          break;
        }
        Keep(record);
        ++plan.first;
      }
    } catch (const Error& e) {
      fault = fmt::format("broke the protocol: {}", e.what());
    }
    if (outcome.end == ChildEnd::kStopped) return false;
    if (plan.first < plan.pairs()) {
      GateRecord lost = Expected(plan);
      lost.fault = fault.empty() ? Describe(outcome) : fault;
      Keep(lost);
      ++plan.first;
    }
    return true;
  }

  static GateRecord Expected(const GatePlan& plan) {
    GateRecord record;
    record.run_id = plan.run_id;
    record.case_name = plan.spec.name;
    record.variant = plan.variants[plan.first % std::ssize(plan.variants)];
    record.seed = plan.seeds[plan.first / std::ssize(plan.variants)];
    return record;
  }

  void Keep(const GateRecord& record) {
    hooks_.append(record);
    Count(record);
  }
  void Count(const GateRecord& record) {
    ++done_;
    if (record.passed) {
      ++summary_.passed;
    } else {
      summary_.failures.push_back(record);
    }
  }

  std::string run_id_;
  std::span<const GateCase> cases_;
  int threads_;
  double timeout_s_;
  const GateHooks& hooks_;
  GateSummary summary_;
  int64_t done_ = 0;
};

}  // namespace

GateSummary RunGate(std::string_view run_id, std::span<const GateCase> cases, int threads, double timeout_s,
                    std::span<const GateRecord> earlier, const GateHooks& hooks) {
  return Gate(run_id, cases, threads, timeout_s, hooks).Run(earlier);
}

}  // namespace pagoda::judge
