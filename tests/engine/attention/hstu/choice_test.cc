// auto and hstu_auto run what the model puts first, whatever that is.
#include "engine/attention/choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "engine/attention/hstu/problem.h"
#include "engine/attention/problem.h"
#include "engine/attention/softmax/variants.h"
#include "pagoda/machine_model.h"

namespace pagoda::testing {
namespace {

class Choice : public ::testing::Test {
 protected:
  ~Choice() override { SetMachineModel(TypicalMachine(2)); }
};

template <typename PlanImpl>
std::vector<double> Totals(const std::vector<Candidate<PlanImpl>>& candidates) {
  std::vector<double> totals;
  totals.reserve(candidates.size());
  for (const auto& c : candidates) totals.push_back(c.cost.total_ns);
  return totals;
}

ProblemSpec ManySequences() {
  ProblemSpec spec;
  spec.contexts = {100, 333, 64, 7};
  spec.queries = {1, 3, 1, 1};
  return spec;
}

HstuSpec OneSequence() {
  HstuSpec spec;
  spec.sequences = {{.queries = 3, .keys = 77}};
  return spec;
}

TEST_F(Choice, EveryOtherVariantIsWeighedTheCheapestFirst) {
  const Problem problem(ManySequences());
  const auto softmax = SoftmaxCandidates(Normalise(problem.batch()), 2);
  EXPECT_EQ(softmax.size(), SoftmaxVariants().size() - 1);
  EXPECT_TRUE(std::ranges::is_sorted(Totals(softmax)));
  EXPECT_GT(Totals(softmax).front(), 0);
  for (const auto& candidate : softmax) EXPECT_NE(candidate.plan->variant, &kAuto);

  const HstuProblem hstu(OneSequence());
  const auto candidates = HstuCandidates(Normalise(hstu.batch()), 2, {});
  EXPECT_EQ(candidates.size(), HstuVariants().size() - 1);
  EXPECT_TRUE(std::ranges::is_sorted(Totals(candidates)));
}

// Machines that differ in one rate each, so that the choice moves.
std::vector<MachineModel> Machines() {
  std::vector<MachineModel> machines(4, TypicalMachine(2));
  machines[1].task_ns = 1e6;
  machines[2].launch_ns = 1e9;
  machines[3].piece_ns = 1e6;
  return machines;
}

TEST_F(Choice, AutoHasTheBitsOfWhatItTakes) {
  const Problem problem(ManySequences());
  std::set<std::string_view> taken;
  for (const MachineModel& machine : Machines()) {
    SetMachineModel(machine);
    const SoftmaxVariant& first = *SoftmaxCandidates(Normalise(problem.batch()), 2).front().plan->variant;
    taken.insert(first.name);
    EXPECT_EQ(RunVariant(kAuto, problem, 2), RunVariant(first, problem, 2)) << first.name;
  }
  EXPECT_GT(taken.size(), 1U);
}

TEST_F(Choice, APlanKeepsItsChoiceWhenTheModelChanges) {
  const Problem problem(ManySequences());
  const SoftmaxPlan plan = PlanSoftmax(kAuto, problem.batch(), 2);
  const size_t bytes = plan.workspace_bytes();
  for (const MachineModel& machine : Machines()) {
    SetMachineModel(machine);
    EXPECT_EQ(plan.workspace_bytes(), bytes);
  }
}

TEST_F(Choice, AVariantThatRefusesTheBatchIsNoCandidate) {
  const HstuProblem problem(OneSequence());
  HstuPlanOptions options;
  options.staging_bytes = 1;  // holds no row
  const auto candidates = HstuCandidates(Normalise(problem.batch()), 2, options);
  ASSERT_EQ(candidates.size(), 1U);
  EXPECT_EQ(candidates.front().plan->variant, &kHstuFused);
}

}  // namespace
}  // namespace pagoda::testing
