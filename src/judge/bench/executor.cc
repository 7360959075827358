#include "judge/bench/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "base/random.h"
#include "judge/record/jsonl.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

// FNV-1a, so that a case keeps its seeds when others join or leave the suite.
uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

bool Failed(LaunchStatus status) {
  return status == LaunchStatus::kGateFailed || status == LaunchStatus::kHung ||
         status == LaunchStatus::kCrashed;
}

class Execution {
 public:
  Execution(const ExecutionPlan& run, std::span<const LaunchRecord> earlier, const ExecutionHooks& hooks)
      : run_(run), hooks_(hooks), spent_s_(run.cases.size()), timed_(run.cases.size()) {
    reruns_left_ = static_cast<int64_t>(run.rerun_share * static_cast<double>(Total()));
    for (const LaunchRecord& record : earlier) Take(record);
  }

  ExecutionSummary Run() {
    for (int launch = 0; launch < run_.launches && !summary_.interrupted; ++launch) {
      for (const size_t c : CaseOrder(run_.cases.size(), run_.seed, launch)) {
        if (!RunUntilFinal(launch, c)) {
          summary_.interrupted = true;
          break;
        }
      }
    }
    return summary_;
  }

 private:
  using Key = std::pair<std::string, int>;  // case, launch

  int64_t Total() const { return std::ssize(run_.cases) * run_.launches; }

  // Attempts of one launch of one case until there is a final record. False: the user asked to stop.
  bool RunUntilFinal(int launch, size_t c) {
    const std::string& name = run_.cases[c].spec.name;
    const Key key{name, launch};
    if (failed_cases_.contains(name)) return true;
    if (final_.contains(key)) {
      ++summary_.skipped;
      return true;
    }
    while (!final_.contains(key) && !failed_cases_.contains(name)) {
      if (hooks_.stop()) return false;
      if (hooks_.progress) hooks_.progress(ProgressBefore(launch, c));
      const LaunchPlan plan = MakeLaunchPlan(run_, run_.cases[c], launch, attempts_[key]);
      const double expected_s = MeanSeconds(c).value_or(0);
      const ChildOutcome outcome = hooks_.runner.Run(ToJson(plan), LaunchTimeout(expected_s));
      if (outcome.end == ChildEnd::kStopped) return false;
      const LaunchRecord record = RecordOf(plan, outcome);
      hooks_.append(record);
      ++summary_.ran;
      spent_s_[c] += outcome.elapsed_s;
      ++timed_[c];
      if (record.status == LaunchStatus::kContaminated) {
        if (MayRerun(record)) {
          ++summary_.rerun;
        } else {
          ++summary_.left_out;
        }
      }
      Take(record);
      if (Failed(record.status)) ++summary_.failed;
    }
    return true;
  }

  bool MayRerun(const LaunchRecord& contaminated) const {
    return contaminated.attempt + 1 < run_.most_attempts && reruns_left_ > 0;
  }

  // Learns what a record says about what is still to be run.
  void Take(const LaunchRecord& record) {
    const Key key{record.case_name, record.launch};
    if (Failed(record.status)) failed_cases_.insert(record.case_name);
    attempts_[key] = std::max(attempts_[key], record.attempt + 1);
    if (record.status == LaunchStatus::kContaminated && MayRerun(record)) {
      --reruns_left_;
    } else {
      final_.insert(key);
    }
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
    lost.slot_order = plan.slot_order;
    lost.elapsed_s = outcome.elapsed_s;
    lost.culprit = outcome.mark;
    lost.status = outcome.end == ChildEnd::kTimedOut ? LaunchStatus::kHung : LaunchStatus::kCrashed;
    lost.reason = Describe(outcome);
    if (outcome.end != ChildEnd::kExited || outcome.code != 0) return lost;
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
        if (auto why =
                Contamination(record.before, record.after, record.elapsed_s, record.threads, run_.limits)) {
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

  std::optional<double> MeanSeconds(size_t c) const {
    if (timed_[c] > 0) return spent_s_[c] / static_cast<double>(timed_[c]);
    if (run_.cases[c].expected_s > 0) return run_.cases[c].expected_s;
    return std::nullopt;
  }

  ExecutionProgress ProgressBefore(int launch, size_t c) const {
    ExecutionProgress progress;
    progress.total = Total();
    progress.case_name = run_.cases[c].spec.name;
    progress.launch = launch;
    double known_s = 0;
    int64_t unknown = 0, known = 0;
    for (size_t i = 0; i < run_.cases.size(); ++i) {
      const std::string& name = run_.cases[i].spec.name;
      int64_t left = 0;
      if (!failed_cases_.contains(name)) {
        for (int l = 0; l < run_.launches; ++l) left += final_.contains({name, l}) ? 0 : 1;
      }
      progress.done += run_.launches - left;
      if (const auto mean = MeanSeconds(i)) {
        known_s += *mean * static_cast<double>(left);
        known += left;
      } else {
        unknown += left;
      }
    }
    // Cases without a time of their own count like the average of the others.
    progress.remaining_s = known_s;
    if (known > 0)
      progress.remaining_s += known_s / static_cast<double>(known) * static_cast<double>(unknown);
    return progress;
  }

  const ExecutionPlan& run_;
  const ExecutionHooks& hooks_;
  ExecutionSummary summary_;
  std::set<Key> final_;
  std::set<std::string> failed_cases_;
  std::map<Key, int> attempts_;
  int64_t reruns_left_ = 0;
  std::vector<double> spent_s_;
  std::vector<int64_t> timed_;
};

}  // namespace

LaunchPlan MakeLaunchPlan(const ExecutionPlan& run, const CaseArms& c, int launch, int attempt) {
  LaunchPlan plan;
  plan.run_id = run.run_id;
  plan.spec = c.spec;
  plan.launch = launch;
  plan.attempt = attempt;
  plan.seed = run.seed;
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
