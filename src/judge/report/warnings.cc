#include "judge/report/warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/listed.h"
#include "judge/report/numbers.h"
#include "judge/report/text.h"

namespace pagoda::judge {
namespace {

using Warnings = std::vector<WarningText>;

constexpr size_t kMostNames = 4;

// Cases on which some contrast is INCONCLUSIVE for `reason`, by device time.
std::vector<std::string> CasesWith(const RunVerdict& run, Reason reason) {
  std::vector<std::string> names;
  for (const CaseRanking& ranking : run.cases) {
    const bool found = std::any_of(run.contrasts.begin(), run.contrasts.end(), [&](const Contrast& contrast) {
      const CaseVerdict* verdict = FindCase(contrast, ranking.case_name);
      return verdict != nullptr && verdict->device.reason == reason;
    });
    if (found) names.push_back(ranking.case_name);
  }
  return names;
}

void AddForReason(const Replay& replay, Reason reason, Warning kind, std::string_view what,
                  std::string_view next, Warnings& out) {
  const std::vector<std::string> cases = CasesWith(replay.run, reason);
  if (cases.empty()) return;
  out.push_back({kind,
                 fmt::format("{} {}: {}.", what, Counted(static_cast<int64_t>(cases.size()), "case", "cases"),
                             ListedUpTo(kMostNames, cases)),
                 std::string(next)});
}

void AddSuspects(const Replay& replay, Warnings& out) {
  std::vector<std::string> names;
  double most = 0;
  for (const Figures& f : replay.run.figures) {
    if (!f.suspect) continue;
    names.push_back(fmt::format("{} on {}", f.variant, f.case_name));
    most = std::max(most, f.roofline_fraction);
  }
  if (names.empty()) return;
  out.push_back(
      {Warning::kSuspectTimes,
       fmt::format("Faster than the machine's own bound, up to {} of the roofline: {}.", Percent(most),
                   ListedUpTo(kMostNames, names)),
       "Don't believe these times before it is known why: work left out, inputs still in the cache, or a "
       "ceiling measured too low. Run `pagoda machine` again on an idle machine."});
}

void AddFailedGates(const Replay& replay, Warnings& out) {
  std::vector<std::string> faults;
  for (const GateRecord& gate : replay.records.gates) {
    if (gate.passed) continue;
    faults.push_back(
        fmt::format("{} on {} with seed {}: {}", gate.variant, gate.case_name, gate.seed, gate.fault));
  }
  if (faults.empty()) return;
  out.push_back(
      {Warning::kFailedGates,
       fmt::format("{} failed: {}.", Counted(static_cast<int64_t>(faults.size()), "gate run", "gate runs"),
                   ListedUpTo(kMostNames, faults)),
       "Mend the variant, or leave it out with --variants; its times don't count."});
}

void AddMissingGates(const Replay& replay, Warnings& out) {
  const RunVerdict& run = replay.run;
  if (run.gates_missing == 0) return;
  out.push_back(
      {Warning::kGatesMissing,
       fmt::format("{} of {} gate runs have no record.", Count(run.gates_missing), Count(run.gates_total)),
       "Run the command again with --resume; if it was finished, records were lost since."});
}

void AddFailures(const Replay& replay, Warnings& out) {
  std::vector<std::string> failures;
  for (const LaunchRecord& launch : replay.records.launches) {
    if (launch.status == LaunchStatus::kOk || launch.status == LaunchStatus::kContaminated) continue;
    failures.push_back(fmt::format("{}{} on {} (launch {}): {}",
                                   launch.culprit.empty() ? "" : launch.culprit + ", ", NameOf(launch.status),
                                   launch.case_name, launch.launch, launch.reason));
  }
  if (failures.empty()) return;
  out.push_back(
      {Warning::kFailedLaunches,
       fmt::format("{} failed: {}.", Counted(static_cast<int64_t>(failures.size()), "launch", "launches"),
                   ListedUpTo(kMostNames, failures)),
       "Mend the variant, or leave it out with --variants; its times don't count."});
}

void AddLaunchCounts(const Replay& replay, Warnings& out) {
  const LaunchCounts& launches = replay.run.launches;
  if (launches.never_run > 0) {
    out.push_back({Warning::kLaunchesMissing,
                   fmt::format("{} of {} planned launches have no record.", Count(launches.never_run),
                               Count(launches.planned)),
                   "Run the command again with --resume to go on where it stopped."});
  }
  if (replay.records.torn_lines > 0) {
    out.push_back({Warning::kTornRecord,
                   "The last line of the records was cut short and counts as not there.",
                   "Run the command again with --resume to repeat that launch."});
  }
  if (launches.left_out > 0) {
    out.push_back(
        {Warning::kContaminatedLaunches,
         fmt::format("{} left out as a whole because the machine was busy, with no clean attempt after.",
                     Counted(launches.left_out, "launch was", "launches were")),
         "Stop other work on the machine and run the command again."});
  }
  if (launches.rerun > 0) {
    out.push_back({Warning::kRerunLaunches,
                   fmt::format("{} contaminated and replaced by a clean attempt.",
                               Counted(launches.rerun, "launch was", "launches were")),
                   "Nothing to do; on a quieter machine the run would be shorter."});
  }
}

void AddMachine(const Replay& replay, Warnings& out) {
  const Conditions conditions = ConditionsOf(replay.records);
  if (conditions.most_steal > kFitSteal || conditions.most_other_busy > kFitOtherBusy) {
    out.push_back(
        {Warning::kUnfitMachine,
         fmt::format("The machine was not quiet: steal up to {}, other processes on up to {} of the CPUs.",
                     Percent(conditions.most_steal), Percent(conditions.most_other_busy)),
         "Run `pagoda machine` to see what is in the way, or use --strict to refuse such a machine."});
  }
  if (conditions.throttle_events > 0) {
    out.push_back({Warning::kThrottled,
                   fmt::format("The CPU throttled {} during launches.",
                               Counted(conditions.throttle_events, "time", "times")),
                   "Improve the cooling or cap the frequency, then run the command again."});
  }
  if (conditions.good > 0 && !conditions.null_arm) {
    out.push_back(
        {Warning::kNoNullArm,
         "No launch timed a null arm, so nothing says how far two copies of the same code lie apart.",
         "Build the second link of the kernel library and run the command again."});
  }
}

// By a budget or --launches, or because launches were left out or failed.
void AddFewSamples(const Replay& replay, Warnings& out) {
  const int64_t asked = CountSetting(replay.manifest, kSamplesSetting);
  std::vector<std::string> few;
  int64_t least = asked;
  for (const Figures& f : replay.run.figures) {
    if (f.samples == 0 || f.samples >= asked) continue;
    few.push_back(fmt::format("{} on {}", f.variant, f.case_name));
    least = std::min(least, f.samples);
  }
  if (few.empty()) return;
  out.push_back({Warning::kFewSamples,
                 fmt::format("Fewer than the {} times of a variant that the suite asks for, down to {}: {}.",
                             Count(asked), Count(least), ListedUpTo(kMostNames, few)),
                 "Run it again with more --launches or a larger --budget."});
}

void AddVerdictReasons(const Replay& replay, Warnings& out) {
  if (replay.run.launches.never_run == 0) {  // else the rest of the run comes first
    AddForReason(replay, Reason::kTooFewLaunches, Warning::kFewLaunches,
                 "Too few launches for any verdict on",
                 "Raise --launches to the number given with each case.", out);
  }
  AddForReason(
      replay, Reason::kBimodal, Warning::kBimodal, "The launches fall into two groups on",
      "Look for what has two states (huge pages, memory placement, CPU frequency) and fix it to one.", out);
  AddForReason(replay, Reason::kClockTooCoarse, Warning::kClockTooCoarse, "The clock is too coarse for",
               "Run on a machine with a finer clock, or on larger cases.", out);
}

void AddProvenance(const Replay& replay, Warnings& out) {
  std::set<std::string> unrepeatable;
  for (const GateRecord& gate : replay.records.gates) {
    if (gate.passed && !gate.bitwise_repeatable) unrepeatable.insert(gate.variant);
  }
  if (!unrepeatable.empty()) {
    out.push_back({Warning::kNotRepeatable,
                   "Right, but not the same bits each time: " +
                       ListedUpTo(kMostNames, {unrepeatable.begin(), unrepeatable.end()}) + ".",
                   "Nothing to do unless repeatable results are wanted."});
  }
  const Ceilings& ceilings = replay.manifest.ceilings;
  if (ceilings.bandwidth.empty() || ceilings.compute.empty()) {
    const char* lacking = !ceilings.compute.empty()     ? "memory"
                          : !ceilings.bandwidth.empty() ? "arithmetic"
                                                        : "memory and none of arithmetic";
    out.push_back(
        {Warning::kCeilingsMissing,
         fmt::format("No ceiling of {} in the manifest, so shares of the roofline are missing or too small.",
                     lacking),
         "Run the command again; it measures the ceilings before the first launch."});
  }
  if (replay.manifest.environment.git_dirty) {
    out.push_back({Warning::kDirtySources,
                   fmt::format("Built from sources that differ from commit {}.",
                               replay.manifest.environment.git_commit),
                   "Commit before a run that others are to repeat."});
  }
}

}  // namespace

std::string_view NameOf(Warning warning) {
  switch (warning) {
    case Warning::kFailedGates:
      return "failed_gates";
    case Warning::kGatesMissing:
      return "gates_missing";
    case Warning::kSuspectTimes:
      return "suspect_times";
    case Warning::kFailedLaunches:
      return "failed_launches";
    case Warning::kLaunchesMissing:
      return "launches_missing";
    case Warning::kTornRecord:
      return "torn_record";
    case Warning::kContaminatedLaunches:
      return "contaminated_launches";
    case Warning::kRerunLaunches:
      return "rerun_launches";
    case Warning::kUnfitMachine:
      return "unfit_machine";
    case Warning::kThrottled:
      return "throttled";
    case Warning::kNoNullArm:
      return "no_null_arm";
    case Warning::kFewSamples:
      return "few_samples";
    case Warning::kFewLaunches:
      return "few_launches";
    case Warning::kBimodal:
      return "bimodal";
    case Warning::kClockTooCoarse:
      return "clock_too_coarse";
    case Warning::kNotRepeatable:
      return "not_repeatable";
    case Warning::kCeilingsMissing:
      return "ceilings_missing";
    case Warning::kDirtySources:
      return "dirty_sources";
  }
  return "";
}

std::vector<WarningText> WarningsOf(const Replay& replay) {
  Warnings warnings;
  AddFailedGates(replay, warnings);
  AddMissingGates(replay, warnings);
  AddSuspects(replay, warnings);
  AddFailures(replay, warnings);
  AddLaunchCounts(replay, warnings);
  AddMachine(replay, warnings);
  AddFewSamples(replay, warnings);
  AddVerdictReasons(replay, warnings);
  AddProvenance(replay, warnings);
  return warnings;
}

}  // namespace pagoda::judge
