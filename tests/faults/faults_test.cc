// Every planted fault is caught by the gate on every case that it applies to; the right variant passes.
#include <gtest/gtest.h>

#include <cctype>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "app/subjects/gate.h"
#include "app/subjects/planted_faults.h"
#include "judge/bench/gate.h"
#include "judge/bench/suite.h"

namespace pagoda::app {
namespace {

constexpr int kThreads = 2;

std::string TestName(const std::string& suite, const judge::CaseSpec& spec) {
  std::string name = suite + "_" + spec.name;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

struct SuiteCase {
  std::string suite;
  judge::CaseSpec spec;
};

void PrintTo(const SuiteCase& c, std::ostream* out) { *out << c.suite << " " << c.spec.name; }

std::vector<SuiteCase> Cases() {
  std::vector<SuiteCase> cases;
#ifdef PAGODA_FAULTS_SUITE
  for (const judge::CaseSpec& spec : judge::LoadSuite(PAGODA_FAULTS_SUITE).cases) {
    cases.push_back({PAGODA_FAULTS_SUITE, spec});
  }
#else
  for (const judge::CaseSpec& spec : PlantedFaultCases()) {
    cases.push_back({spec.blocks.empty() ? "own" : "own_shared", spec});
  }
#endif
  return cases;
}

class EveryFault : public testing::TestWithParam<SuiteCase> {};

TEST_P(EveryFault, IsCaught) {
  const judge::CaseSpec& spec = GetParam().spec;
  Kernels kernels(*pagoda_kernel_library());
  std::vector<std::unique_ptr<GateCase>> by_seed;
  const auto with_seed = [&](size_t i) -> GateCase& {
    if (i == by_seed.size()) {
      by_seed.push_back(std::make_unique<GateCase>(spec, judge::kGateSeeds[i], &kernels.Pool(kThreads)));
    }
    return *by_seed[i];
  };
  const judge::GateResult right =
      RunGate(with_seed(0), kernels, *FindSoftmaxVariant("spmd_paged_attention"), kThreads);
  ASSERT_TRUE(right.passed) << right.fault;
  for (const PlantedFault fault : PlantedFaults()) {
    if (!Applies(fault, spec)) continue;
    const SoftmaxVariant& faulty = VariantWith(fault);
    std::string caught;
    for (size_t i = 0; i < judge::kGateSeeds.size() && caught.empty(); ++i) {
      caught = RunGate(with_seed(i), kernels, faulty, kThreads).fault;
      if (!with_seed(i).Intact()) by_seed.resize(i);
    }
    EXPECT_FALSE(caught.empty()) << NameOf(fault) << " passed the gate on " << spec.name;
    RecordProperty(NameOf(fault), caught);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryFault, testing::ValuesIn(Cases()),
                         [](const auto& info) { return TestName(info.param.suite, info.param.spec); });

}  // namespace
}  // namespace pagoda::app
