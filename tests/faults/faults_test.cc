// Every planted fault is caught by the gate on every case that it applies to; the right variant passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "app/subjects/case_suite.h"
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
  for (const judge::CaseSpec& spec : HstuFaultCases()) cases.push_back({"own", spec});
  for (const auto& entry : std::filesystem::directory_iterator(PAGODA_TEST_CASES)) {
    const std::filesystem::path& path = entry.path();
    if (!path.filename().string().starts_with("hstu_") || path.stem() == "hstu_batch_of_none") continue;
    cases.push_back({"file", SuiteOf(CaseFile::Open(path), path).cases.at(0)});
  }
#endif
  return cases;
}

class EveryFault : public testing::TestWithParam<SuiteCase> {};

// A right variant of the operator, and one with a fault.
template <typename Batch>
struct Side;
template <>
struct Side<SoftmaxBatch> {
  static const SoftmaxVariant& Right() { return *FindSoftmaxVariant("spmd_paged_attention"); }
  static const SoftmaxVariant& With(PlantedFault fault) { return VariantWith(fault); }
};
template <>
struct Side<HstuBatch> {
  static const HstuVariant& Right() { return *FindHstuVariant("hstu_fused"); }
  static const HstuVariant& With(PlantedFault fault) { return HstuVariantWith(fault); }
};

template <typename Batch>
void ExpectEveryFaultCaught(const judge::CaseSpec& spec) {
  Kernels kernels(*pagoda_kernel_library());
  std::vector<std::unique_ptr<GateCaseOf<Batch>>> by_seed;
  const auto with_seed = [&](size_t i) -> GateCaseOf<Batch>& {
    if (i == by_seed.size()) {
      by_seed.push_back(
          std::make_unique<GateCaseOf<Batch>>(spec, judge::kGateSeeds[i], &kernels.Pool(kThreads)));
    }
    return *by_seed[i];
  };
  const judge::GateResult right = RunGate(with_seed(0), kernels, Side<Batch>::Right(), kThreads);
  ASSERT_TRUE(right.passed) << right.fault;
  for (const PlantedFault fault : PlantedFaults()) {
    if (!Applies(fault, spec)) continue;
    const auto& faulty = Side<Batch>::With(fault);
    std::string caught;
    for (size_t i = 0; i < judge::kGateSeeds.size() && caught.empty(); ++i) {
      caught = RunGate(with_seed(i), kernels, faulty, kThreads).fault;
      if (!with_seed(i).Intact()) by_seed.resize(i);
    }
    EXPECT_FALSE(caught.empty()) << NameOf(fault) << " passed the gate on " << spec.name;
    testing::Test::RecordProperty(NameOf(fault), caught);
  }
}

TEST_P(EveryFault, IsCaught) {
  const judge::CaseSpec& spec = GetParam().spec;
  if (IsHstu(spec.op)) {
    ExpectEveryFaultCaught<HstuBatch>(spec);
  } else {
    ExpectEveryFaultCaught<SoftmaxBatch>(spec);
  }
}

#ifndef PAGODA_FAULTS_SUITE
TEST(PlantedFaults, EachAppliesToOneOfTheCasesAtLeast) {
  std::vector<judge::CaseSpec> cases = PlantedFaultCases();
  for (const judge::CaseSpec& spec : HstuFaultCases()) cases.push_back(spec);
  for (const PlantedFault fault : PlantedFaults()) {
    EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [&](const auto& spec) {
      return Applies(fault, spec);
    })) << NameOf(fault);
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(All, EveryFault, testing::ValuesIn(Cases()),
                         [](const auto& info) { return TestName(info.param.suite, info.param.spec); });

}  // namespace
}  // namespace pagoda::app
