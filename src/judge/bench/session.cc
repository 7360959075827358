#include "judge/bench/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "base/sys/file.h"
#include "judge/bench/resume.h"
#include "judge/record/jsonl.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

namespace fs = std::filesystem;

constexpr double kPilotTimeout = 600;

class Session {
 public:
  Session(const RunSetup& setup, Manifest manifest, const SessionOptions& options, const SessionHooks& hooks)
      : setup_(setup), options_(options), hooks_(hooks), begin_s_(hooks.now_s()) {
    result_.manifest = std::move(manifest);
    result_.manifest.launches = LaunchesToRun(setup, options.launches);
    OpenDirectory();
  }

  SessionResult Run() {
    RecordWriter writer(options_.directory / kRecordsFile);
    RunGateInto(writer);
    if (result_.interrupted) return std::move(result_);
    std::vector<CaseArms> cases = setup_.TimedCases(result_.gate.failures);
    if (cases.empty()) {
      result_.nothing_to_time = true;
      return std::move(result_);
    }
    ProtocolOptions protocol = options_.protocol;
    if (!earlier_.launches.empty()) {
      ResumeBlocks(protocol);
    } else if (options_.budget_s > 0) {
      FitIntoBudget(cases, protocol);
    }
    if (result_.interrupted) return std::move(result_);
    WarnOfFewLaunches();
    RunLaunchesInto(writer, std::move(cases), protocol);
    return std::move(result_);
  }

 private:
  void OpenDirectory() {
    if (auto recorded = OpenRunDirectory(options_, result_.manifest)) {
      result_.manifest = std::move(*recorded);
      const fs::path records = options_.directory / kRecordsFile;
      std::error_code ignored;
      if (fs::exists(records, ignored)) earlier_ = ReadRecords(records);
    } else {
      WriteManifest(options_.directory / kManifestFile, result_.manifest);
    }
  }

  void Report(std::string_view phase, int64_t done, int64_t total, std::string_view case_name) const {
    hooks_.progress(phase, {.done = done, .total = total, .case_name = std::string(case_name), .launch = 0});
  }

  void RunGateInto(RecordWriter& writer) {
    const GateHooks hooks{.runner = hooks_.runner,
                          .append = [&](const GateRecord& record) { writer.Append(record); },
                          .stop = hooks_.stop,
                          .progress = [&](int64_t done, int64_t total,
                                          std::string_view name) { Report("gate", done, total, name); }};
    result_.gate =
        RunGate(result_.manifest.run_id, setup_.GateCases(), result_.manifest.threads, earlier_.gates, hooks);
    result_.interrupted = result_.gate.interrupted;
  }

  // The launches of a resumed run have as many blocks as those before them.
  void ResumeBlocks(ProtocolOptions& protocol) const {
    int blocks = 0;
    for (const LaunchRecord& record : earlier_.launches) blocks = std::max(blocks, record.blocks);
    if (blocks >= protocol.least_blocks) protocol.blocks = std::min(blocks, protocol.blocks);
  }

  // A pilot of every case tells its cost; without one it counts like the average of the others.
  void FitIntoBudget(std::vector<CaseArms>& cases, ProtocolOptions& protocol) {
    ExecutionPlan run = PlanOf(cases, protocol);
    run.protocol.pilot = true;
    std::vector<std::optional<LaunchCost>> costs;
    for (size_t i = 0; i < cases.size(); ++i) {
      Report("pilot", static_cast<int64_t>(i), std::ssize(cases), cases[i].spec.name);
      const ChildOutcome outcome =
          hooks_.runner.Run(ToJson(MakeLaunchPlan(run, cases[i], 0, 0)), kPilotTimeout);
      if (outcome.end == ChildEnd::kStopped || hooks_.stop()) {
        result_.interrupted = true;
        return;
      }
      costs.push_back(CostFrom(outcome));
    }
    std::vector<LaunchCost> known;
    for (const auto& cost : costs) {
      if (cost) known.push_back(*cost);
    }
    if (known.empty()) return;  // the launches will say why
    const double share = static_cast<double>(known.size()) / static_cast<double>(costs.size());
    const double left_s = std::max(1.0, options_.budget_s - (hooks_.now_s() - begin_s_));
    const Schedule schedule =
        FitBudget(known, result_.manifest.launches, FewestLaunches(setup_), protocol, left_s * share);
    if (!schedule.note.empty())
      hooks_.note(fmt::format("to fit the budget of {}: {}", DurationText(options_.budget_s), schedule.note));
    protocol = schedule.protocol;
    for (size_t i = 0; i < cases.size(); ++i) {
      if (costs[i]) cases[i].expected_s = LaunchSeconds(*costs[i], protocol);
    }
    if (schedule.launches != result_.manifest.launches) {
      result_.manifest.launches = schedule.launches;
      WriteManifest(options_.directory / kManifestFile, result_.manifest);
    }
  }

  std::optional<LaunchCost> CostFrom(const ChildOutcome& outcome) const {
    if (outcome.end != ChildEnd::kExited || outcome.code != 0) return std::nullopt;
    try {
      return CostOf(ParsePilotResult(outcome.out, "pilot"), outcome.elapsed_s, options_.protocol);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  void WarnOfFewLaunches() const {
    const int fewest = FewestLaunches(setup_);
    const int questions = static_cast<int>(setup_.cases.size()) * setup_.Contrasts();
    if (questions == 0 || result_.manifest.launches >= fewest) return;
    hooks_.note(fmt::format("--launches {} can't decide anything: to answer {} it takes at least {}",
                            result_.manifest.launches,
                            questions == 1 ? "1 question" : fmt::format("{} questions", questions), fewest));
  }

  ExecutionPlan PlanOf(std::vector<CaseArms> cases, const ProtocolOptions& protocol) const {
    ExecutionPlan run;
    run.run_id = result_.manifest.run_id;
    run.cases = std::move(cases);
    run.launches = result_.manifest.launches;
    run.seed = result_.manifest.seed;
    run.threads = result_.manifest.threads;
    run.protocol = protocol;
    run.limits = options_.limits;
    return run;
  }

  void RunLaunchesInto(RecordWriter& writer, std::vector<CaseArms> cases, const ProtocolOptions& protocol) {
    const ExecutionPlan run = PlanOf(std::move(cases), protocol);
    result_.launches =
        RunLaunches(run, earlier_.launches,
                    {.runner = hooks_.runner,
                     .append = [&](const LaunchRecord& record) { writer.Append(record); },
                     .stop = hooks_.stop,
                     .before_rerun = hooks_.before_rerun,
                     .progress = [&](const ExecutionProgress& p) { hooks_.progress("launches", p); }});
    result_.interrupted = result_.launches.interrupted;
  }

  const RunSetup& setup_;
  const SessionOptions& options_;
  const SessionHooks& hooks_;
  double begin_s_;
  Records earlier_;
  SessionResult result_;
};

void RequireWritable(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    throw Error(ErrorCode::kIo, "--out",
                fmt::format("= {} can't be made: {}", directory.string(), error.message()));
  }
  const sys::OutputFile probe(directory / kManifestFile);  // gone again, since nothing commits it
}

}  // namespace

std::optional<Manifest> OpenRunDirectory(const SessionOptions& options, const Manifest& asked) {
  const fs::path manifest = options.directory / kManifestFile;
  const std::string directory = options.directory.string();
  std::error_code ignored;
  if (!options.resume) {
    for (const fs::path& file : {manifest, options.directory / kRecordsFile}) {
      if (!fs::exists(file, ignored)) continue;
      throw Error(ErrorCode::kInvalidArgument, "--out",
                  fmt::format("= {} holds a run already ({}): go on with it by --resume, or give another "
                              "directory",
                              directory, file.filename().string()));
    }
    RequireWritable(options.directory);
    return std::nullopt;
  }
  if (!fs::exists(manifest, ignored)) {
    throw Error(
        ErrorCode::kInvalidArgument, "--resume",
        fmt::format("finds no {} in {}; leave it away to start a run there", kManifestFile, directory));
  }
  Manifest recorded = ReadManifest(manifest);
  Manifest wanted = asked;
  // A budget may have cut them.
  if (options.launches == 0 || options.budget_s > 0) wanted.launches = recorded.launches;
  const std::vector<std::string> differences = ManifestDifferences(recorded, wanted);
  if (!differences.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "--resume",
                fmt::format("can't go on with the run in {}: {}", directory, fmt::join(differences, "; ")));
  }
  RequireWritable(options.directory);
  return recorded;
}

SessionResult RunSession(const RunSetup& setup, Manifest manifest, const SessionOptions& options,
                         const SessionHooks& hooks) {
  return Session(setup, std::move(manifest), options, hooks).Run();
}

}  // namespace pagoda::judge
