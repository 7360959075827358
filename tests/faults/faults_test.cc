// Every planted fault is caught by the gate on every case that it applies to; the right variant passes.
#include <gtest/gtest.h>

#include <cctype>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "app/subjects/gate.h"
#include "faults/faulty_variants.h"
#include "judge/bench/case_name.h"
#include "judge/bench/gate.h"
#include "judge/bench/suite.h"

namespace pagoda::faults {
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
  // What no suite has, so that every fault applies somewhere.
  for (const char* name : {
           "b2_h4_kv2_s130_bs16_hd64_bf16_q8_wl7",
           "b1_h3_kv1_s77_bs8_hd40_f32_q5_noncausal_wl6_wr3",
           "b2_h4_kv4_s40-9_bs16_hd64_f16_decode_wl12_cap20_alibi_sinks",
           "b3_h6_kv2_s33_bs1_hd80_f16_decode_combined_padded_i64",
       }) {
    cases.push_back({"own", judge::ParseCaseName(name)});
  }
  judge::CaseSpec shared = judge::ParseCaseName("b3_h4_kv2_s600-540-100_bs64_hd64_bf16_q5-1x2_wl90");
  shared.blocks = {{0, 1}, {0, 2}, {0}};
  cases.push_back({"own_shared", shared});
#endif
  return cases;
}

class EveryFault : public testing::TestWithParam<SuiteCase> {};

TEST_P(EveryFault, IsCaught) {
  const judge::CaseSpec& spec = GetParam().spec;
  app::Kernels kernels(*pagoda_kernel_library());
  std::vector<std::unique_ptr<app::GateCase>> by_seed;
  const auto with_seed = [&](size_t i) -> app::GateCase& {
    if (i == by_seed.size()) {
      by_seed.push_back(std::make_unique<app::GateCase>(spec, judge::kGateSeeds[i], &kernels.Pool(kThreads)));
    }
    return *by_seed[i];
  };
  const judge::GateResult right =
      app::RunGate(with_seed(0), kernels, *FindSoftmaxVariant("spmd_paged_attention"), kThreads);
  ASSERT_TRUE(right.passed) << right.fault;
  for (const Fault fault : AllFaults()) {
    if (!Applies(fault, spec)) continue;
    const SoftmaxVariant& faulty = Faulty(fault);
    std::string caught;
    for (size_t i = 0; i < judge::kGateSeeds.size() && caught.empty(); ++i) {
      caught = app::RunGate(with_seed(i), kernels, faulty, kThreads).fault;
      if (!with_seed(i).Intact()) by_seed.resize(i);
    }
    EXPECT_FALSE(caught.empty()) << NameOf(fault) << " passed the gate on " << spec.name;
    RecordProperty(NameOf(fault), caught);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryFault, testing::ValuesIn(Cases()),
                         [](const auto& info) { return TestName(info.param.suite, info.param.spec); });

}  // namespace
}  // namespace pagoda::faults
