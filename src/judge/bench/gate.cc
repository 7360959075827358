#include "judge/bench/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "judge/record/jsonl.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

// Of a run that left no output.
GateRecord RecordOf(const GatePlan& plan, const GateRun& run) {
  GateRecord record;
  record.run_id = plan.run_id;
  record.case_name = plan.spec.name;
  record.variant = run.variant;
  record.seed = run.seed;
  record.max_abs_error = std::numeric_limits<double>::infinity();
  return record;
}

class Gate {
 public:
  Gate(std::string_view run_id, std::span<const GateCase> cases, int threads, const GateHooks& hooks)
      : run_id_(run_id), cases_(cases), threads_(threads), hooks_(hooks) {
    for (const GateCase& c : cases) summary_.total += std::ssize(c.variants) * std::ssize(kGateSeeds);
  }

  GateSummary Run(std::span<const GateRecord> earlier) {
    for (const GateCase& c : cases_) {
      GatePlan plan{.run_id = run_id_, .spec = c.spec, .runs = {}, .threads = threads_};
      for (const uint64_t seed : kGateSeeds) {
        for (const std::string& variant : c.variants) plan.runs.push_back({variant, seed});
      }
      for (const GateRecord& record : earlier) {
        if (record.case_name != c.spec.name) continue;
        if (std::erase(plan.runs, GateRun{record.variant, record.seed}) > 0) Count(record);
      }
      GiveUpOnHung(plan);
      while (!plan.runs.empty()) {
        if (hooks_.stop() || !RunOnce(plan, c.timeout_s)) {
          summary_.interrupted = true;
          return summary_;
        }
      }
    }
    return summary_;
  }

 private:
  // One process; takes out of the plan what got a record. False: the user asked to stop.
  bool RunOnce(GatePlan& plan, double timeout_s) {
    if (hooks_.progress) hooks_.progress(done_, summary_.total, plan.spec.name);
    const ChildOutcome outcome = hooks_.runner.Run(ToJson(plan), timeout_s);
    std::string fault;
    try {
      for (const GateRecord& record : ParseRecords(outcome.out, "gate").gates) {
        if (plan.runs.empty()) break;
        const GateRecord expected = RecordOf(plan, plan.runs.front());
        if (record.run_id != expected.run_id || record.case_name != expected.case_name ||
            record.variant != expected.variant || record.seed != expected.seed) {
          fault = "broke the protocol: its record is of another gate run";
          break;
        }
        Keep(record);
        plan.runs.erase(plan.runs.begin());
      }
    } catch (const Error& e) {
      fault = fmt::format("broke the protocol: {}", e.what());
    }
    if (outcome.end == ChildEnd::kStopped) return false;
    if (plan.runs.empty()) return true;
    GateRecord lost = RecordOf(plan, plan.runs.front());
    lost.fault = fault.empty() ? Describe(outcome) : fault;
    Keep(lost);
    plan.runs.erase(plan.runs.begin());
    if (outcome.end == ChildEnd::kTimedOut) {
      hung_.emplace(lost.variant, fmt::format("{} with seed {}", lost.case_name, lost.seed));
      GiveUpOnHung(plan);
    }
    return true;
  }

  // What hung once may hang again, and each time costs as long as the watchdog waits.
  void GiveUpOnHung(GatePlan& plan) {
    std::erase_if(plan.runs, [&](const GateRun& run) {
      const auto hung = hung_.find(run.variant);
      if (hung == hung_.end()) return false;
      GateRecord skipped = RecordOf(plan, run);
      skipped.fault = fmt::format("not run: it hung on {}", hung->second);
      Keep(skipped);
      return true;
    });
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
  const GateHooks& hooks_;
  std::map<std::string, std::string, std::less<>> hung_;  // by variant: on what
  GateSummary summary_;
  int64_t done_ = 0;
};

}  // namespace

double GateTimeout(const CaseFacts& facts) {
  constexpr double kLeast = 60;
  constexpr double kCalls = 30;  // of the variant, on up to four thread counts, and the oracle's share
  constexpr double kFlopsPerSecond = 0.5e9;  // of a build without optimisation
  return kLeast + kCalls * facts.flops / kFlopsPerSecond;
}

GateSummary RunGate(std::string_view run_id, std::span<const GateCase> cases, int threads,
                    std::span<const GateRecord> earlier, const GateHooks& hooks) {
  return Gate(run_id, cases, threads, hooks).Run(earlier);
}

}  // namespace pagoda::judge
