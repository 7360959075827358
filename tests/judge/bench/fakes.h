// A subject, a clock and a way to start processes that exist only in memory.
#pragma once

#include <fmt/format.h>

#include <csignal>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "judge/bench/case_name.h"
#include "judge/bench/child.h"
#include "judge/bench/child_runner.h"

namespace pagoda::judge::testing_fakes {

// Every variant takes call_ns[variant] (1 us unless set) for a call; device time is half of it.
class FakeSubject : public Subject {
 public:
  std::map<std::string, double> call_ns;
  std::map<std::string, std::string> wrong_after_timing;                // variant -> fault
  std::map<std::pair<std::string, uint64_t>, std::string> gate_faults;  // variant, seed -> fault
  std::string throws_in_gate, throws_in_prepare, throws_in_run;         // variants
  std::vector<PrepareOptions> prepared;
  int64_t now_ns = 0;

  std::vector<std::string> Variants() const override { return {"a", "b", "c"}; }
  std::optional<std::string> WhyNot(const CaseSpec&, std::string_view) const override { return std::nullopt; }
  CaseFacts Facts(const CaseSpec&) const override { return {1e6, 2e6, 4096}; }
  GateResult Gate(const CaseSpec& spec, std::string_view variant, uint64_t seed, int) override {
    if (variant == throws_in_gate) throw std::runtime_error("no memory");
    const auto fault = gate_faults.find({std::string(variant), seed});
    const bool passed = fault == gate_faults.end();
    return {spec.name, std::string(variant), seed, passed, true, 1e-4, passed ? "" : fault->second};
  }
  std::vector<std::unique_ptr<Arm>> Prepare(const CaseSpec&, const PrepareOptions& options) override {
    prepared.push_back(options);
    std::vector<std::unique_ptr<Arm>> arms;
    for (const ArmId& id : options.arms) {
      if (options.about_to_prepare) options.about_to_prepare(arms.size());
      if (id.variant == throws_in_prepare) throw std::runtime_error("no file");
      arms.push_back(std::make_unique<FakeArm>(*this, id));
    }
    return arms;
  }

 private:
  class FakeArm : public Arm {
   public:
    FakeArm(FakeSubject& subject, ArmId id) : subject_(subject), id_(std::move(id)) {}
    EpochTime Run(int64_t calls) override {
      if (id_.variant == subject_.throws_in_run) throw std::runtime_error("bad page");
      const auto set = subject_.call_ns.find(id_.variant);
      const double ns = static_cast<double>(calls) * (set == subject_.call_ns.end() ? 1e3 : set->second);
      subject_.now_ns += static_cast<int64_t>(ns);
      return {ns, ns / 2};
    }
    CheckResult CheckTimedOutput() override {
      const auto wrong = subject_.wrong_after_timing.find(id_.variant);
      if (wrong == subject_.wrong_after_timing.end()) return {true, 1e-4, ""};
      return {false, 1, wrong->second};
    }

   private:
    FakeSubject& subject_;
    ArmId id_;
  };
};

// Serves plans in this process. What happens to the n-th child can be set.
class FakeRunner : public ChildRunner {
 public:
  explicit FakeRunner(FakeSubject& subject) : subject_(subject) {}

  // Instead of serving: returns the outcome, or changes the one that serving gave.
  using Event = std::function<void(const ChildPlan& plan, ChildOutcome& outcome)>;
  std::map<size_t, Event> events;  // by child number
  Event every_child;
  EnvironmentSample before, after;
  std::vector<ChildPlan> plans;
  std::vector<double> timeouts;

  ChildOutcome Run(std::string_view plan_json, double timeout_s) override {
    const size_t n = plans.size();
    plans.push_back(ParseChildPlan(plan_json, "plan"));
    timeouts.push_back(timeout_s);
    ChildOutcome outcome;
    outcome.elapsed_s = 2;
    int samples = 0;
    ServePlan(plans.back(),
              {.subject = subject_,
               .now_ns = [&] { return subject_.now_ns; },
               .clock_resolution_ns = 20,
               .sample_environment = [&] { return samples++ == 0 ? before : after; },
               .write_line = [&](std::string_view line) { outcome.out += std::string(line) + "\n"; },
               .mark = [&](std::string_view variant) { outcome.mark = variant; }});
    if (every_child) every_child(plans.back(), outcome);
    if (const auto event = events.find(n); event != events.end()) event->second(plans.back(), outcome);
    return outcome;
  }

  static void Crash(ChildOutcome& outcome) {
    outcome.end = ChildEnd::kSignalled;
    outcome.code = SIGSEGV;
    outcome.out.clear();
  }
  static void Hang(ChildOutcome& outcome) {
    outcome.end = ChildEnd::kTimedOut;
    outcome.code = SIGKILL;
    outcome.out.clear();
  }

 private:
  FakeSubject& subject_;
};

inline CaseSpec SmallCase(int64_t context) {
  return ParseCaseName(fmt::format("b1_h4_kv2_s{}_bs16_hd64_bf16_decode", context));
}

}  // namespace pagoda::judge::testing_fakes
