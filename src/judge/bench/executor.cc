#include "judge/bench/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/hash.h"
#include "base/random.h"
#include "judge/record/jsonl.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

bool Failed(LaunchStatus status) {
  return status == LaunchStatus::kGateFailed || status == LaunchStatus::kHung ||
         status == LaunchStatus::kCrashed;
}

class Execution {
 public:
  Execution(const ExecutionPlan& run, std::span<const LaunchRecord> earlier, const ExecutionHooks& hooks)
      : run_(run), hooks_(hooks), states_(run.cases.begin(), run.cases.end()) {
    reruns_left_ = static_cast<int64_t>(run.rerun_share * static_cast<double>(Total()));
    for (const LaunchRecord& record : earlier) {
      for (CaseState& state : states_) {
        if (state.arms.spec.name == record.case_name) Take(state, record);
      }
    }
  }

  ExecutionSummary Run() {
    for (int launch = 0; launch < run_.launches && !summary_.interrupted; ++launch) {
      for (const size_t c : CaseOrder(states_.size(), run_.seed, launch)) {
        if (!RunUntilFinal(launch, states_[c])) {
          summary_.interrupted = true;
          break;
        }
      }
    }
    return summary_;
  }

 private:
  struct CaseState {
    explicit CaseState(const CaseArms& a) : arms(a) {}
    CaseArms arms;                // those that are still timed
    bool over = false;            // nothing is left to compare, or it isn't known what failed
    std::set<int> done;           // launches that need no further attempt
    std::map<int, int> attempts;  // next attempt of a launch
    double spent_s = 0;
    int64_t timed = 0;

    double ExpectedSeconds() const {
      return timed > 0 ? spent_s / static_cast<double>(timed) : arms.expected_s;
    }
    int64_t Left(int launches) const { return over ? 0 : launches - std::ssize(done); }
    void Drop(std::string_view variant) {
      const bool baseline = std::any_of(arms.arms.begin(), arms.arms.end(), [&](const ArmId& arm) {
        return arm.link == 1 && arm.variant == variant;
      });
      std::erase_if(arms.arms, [&](const ArmId& arm) { return arm.variant == variant; });
      // The baseline and its null arm alone compare nothing.
      over = over || baseline || arms.arms.size() <= 2;
    }
  };

  int64_t Total() const { return std::ssize(run_.cases) * run_.launches; }

  // Attempts of one launch of one case until no further one is needed. False: the user asked to stop.
  bool RunUntilFinal(int launch, CaseState& state) {
    if (state.done.contains(launch)) {
      ++summary_.skipped;
      return true;
    }
    while (!state.over && !state.done.contains(launch)) {
      if (hooks_.stop()) return false;
      if (hooks_.progress) hooks_.progress(ProgressBefore(launch, state));
      const LaunchPlan plan = MakeLaunchPlan(run_, state.arms, launch, state.attempts[launch]);
      const ChildOutcome outcome = hooks_.runner.Run(ToJson(plan), LaunchTimeout(state.ExpectedSeconds()));
      if (outcome.end == ChildEnd::kStopped) return false;
      const LaunchRecord record = RecordOf(plan, outcome);
      hooks_.append(record);
      ++summary_.ran;
      state.spent_s += outcome.elapsed_s;
      ++state.timed;
      if (Failed(record.status)) ++summary_.failed;
      const bool contaminated = record.status == LaunchStatus::kContaminated;
      if (contaminated) ++(MayRerun(record) ? summary_.rerun : summary_.left_out);
      Take(state, record);
      if (contaminated && !state.done.contains(launch) && hooks_.before_rerun) hooks_.before_rerun();
    }
    return true;
  }

  bool MayRerun(const LaunchRecord& contaminated) const {
    return contaminated.attempt + 1 < run_.most_attempts && reruns_left_ > 0;
  }

  // Learns what a record says about what is still to be run.
  void Take(CaseState& state, const LaunchRecord& record) {
    state.attempts[record.launch] = std::max(state.attempts[record.launch], record.attempt + 1);
    switch (record.status) {
      case LaunchStatus::kOk:
        state.done.insert(record.launch);
        break;
      case LaunchStatus::kContaminated:
        if (MayRerun(record)) {
          --reruns_left_;
        } else {
          state.done.insert(record.launch);
        }
        break;
      case LaunchStatus::kGateFailed:  // the other arms were timed whole
        state.done.insert(record.launch);
        DropCulprits(state, record);
        break;
      case LaunchStatus::kHung:
      case LaunchStatus::kCrashed:
        DropCulprits(state, record);
        break;
    }
  }

  static void DropCulprits(CaseState& state, const LaunchRecord& record) {
    std::set<std::string> culprits;
    if (!record.culprit.empty()) culprits.insert(record.culprit);
    for (const ArmCheck& check : record.checks) {
      if (!check.passed) culprits.insert(check.variant);
    }
    const size_t before = state.arms.arms.size();
    for (const std::string& culprit : culprits) state.Drop(culprit);
    // Without a culprit the next attempt would end the same way.
    state.over = state.over || state.arms.arms.size() == before;
  }

  LaunchRecord RecordOf(const LaunchPlan& plan, const ChildOutcome& outcome) const {
    LaunchRecord lost;
    lost.run_id = plan.run_id;
    lost.case_name = plan.spec.name;
    lost.launch = plan.launch;
    lost.attempt = plan.attempt;
    lost.seed = plan.seed;
    lost.cache = plan.spec.cold ? "cold" : "warm";
    lost.threads = plan.threads;
    lost.elapsed_s = outcome.elapsed_s;
    lost.culprit = outcome.mark;
    lost.status = outcome.end == ChildEnd::kTimedOut ? LaunchStatus::kHung : LaunchStatus::kCrashed;
    lost.reason = Describe(outcome);
    if (outcome.end != ChildEnd::kExited || outcome.code != 0 || outcome.out.empty()) return lost;
    try {
      Records parsed = ParseRecords(outcome.out, "launch");
      if (parsed.launches.size() != 1 || !parsed.gates.empty() || parsed.torn_lines != 0) {
        lost.reason = "broke the protocol: it did not write exactly one record";
        return lost;
      }
      LaunchRecord& record = parsed.launches.front();
      if (record.run_id != plan.run_id || record.case_name != plan.spec.name ||
          record.launch != plan.launch || record.attempt != plan.attempt) {
        lost.reason = "broke the protocol: its record is of another launch";
        return lost;
      }
      if (record.status == LaunchStatus::kOk) {
        const int64_t epochs = int64_t{2} * record.blocks * std::ssize(record.arms);
        if (auto why = Contamination(record.before, record.after, record.elapsed_s, record.threads, epochs,
                                     run_.limits)) {
          record.status = LaunchStatus::kContaminated;
          record.reason = *why;
        }
      }
      return record;
    } catch (const Error& e) {
      lost.reason = fmt::format("broke the protocol: {}", e.what());
      return lost;
    }
  }

  ExecutionProgress ProgressBefore(int launch, const CaseState& next) const {
    ExecutionProgress progress;
    progress.total = Total();
    progress.case_name = next.arms.spec.name;
    progress.launch = launch;
    for (const CaseState& state : states_) progress.done += run_.launches - state.Left(run_.launches);
    return progress;
  }

  const ExecutionPlan& run_;
  const ExecutionHooks& hooks_;
  ExecutionSummary summary_;
  std::vector<CaseState> states_;
  int64_t reruns_left_ = 0;
};

}  // namespace

LaunchPlan MakeLaunchPlan(const ExecutionPlan& run, const CaseArms& c, int launch, int attempt) {
  LaunchPlan plan;
  plan.run_id = run.run_id;
  plan.spec = c.spec;
  plan.launch = launch;
  plan.attempt = attempt;
  plan.seed = run.seed;
  // The hash of the name, so that a case keeps its seeds when others join or leave the suite.
  for (const uint64_t part :
       {HashOf(c.spec.name), static_cast<uint64_t>(launch), static_cast<uint64_t>(attempt)}) {
    uint64_t state = plan.seed ^ part;
    plan.seed = SplitMix64(state);
  }
  plan.threads = run.threads;
  plan.arms = c.arms;
  plan.slot_order.resize(c.arms.size());
  std::iota(plan.slot_order.begin(), plan.slot_order.end(), 0);
  Random(plan.seed).Fork(0).Shuffle(std::span(plan.slot_order));
  plan.protocol = run.protocol;
  plan.protocol.seed = Random(plan.seed).Fork(1).Bits();
  return plan;
}

std::vector<size_t> CaseOrder(size_t cases, uint64_t seed, int launch) {
  std::vector<size_t> order(cases);
  std::iota(order.begin(), order.end(), size_t{0});
  Random(seed).Fork(static_cast<uint64_t>(launch)).Shuffle(std::span(order));
  return order;
}

double LaunchTimeout(double expected_s) {
  constexpr double kLeast = 60;
  constexpr double kUnknown = 600;
  constexpr double kTimesExpected = 10;
  return expected_s > 0 ? std::max(kLeast, kTimesExpected * expected_s) : kUnknown;
}

ExecutionSummary RunLaunches(const ExecutionPlan& run, std::span<const LaunchRecord> earlier,
                             const ExecutionHooks& hooks) {
  return Execution(run, earlier, hooks).Run();
}

}  // namespace pagoda::judge
