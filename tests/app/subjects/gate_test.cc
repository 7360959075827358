// The real variants pass; what must make it fail is in tests/faults.
#include "app/subjects/gate.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "app/subjects/guarded_run.h"
#include "engine/attention/hstu/variant.h"
#include "judge/bench/case_name.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

class EveryVariant : public testing::TestWithParam<const SoftmaxVariant*> {};

TEST_P(EveryVariant, PassesOnOrdinaryCases) {
  Kernels kernels(*pagoda_kernel_library());
  for (const char* name :
       {"b2_h4_kv2_s130-7_bs16_hd64_bf16_decode", "b1_h6_kv2_s60_bs7_hd40_f32_q9_hnd_wl11_sinks",
        "b2_h2_kv1_s40-64_bs32_hd80_f16_q40-1_combined_padded_noncausal_alibi"}) {
    const judge::CaseSpec spec = judge::ParseCaseName(name);
    for (const uint64_t seed : {2026, 2029}) {
      const GateCase gate_case(spec, seed, nullptr);
      const judge::GateResult result = RunGate(gate_case, kernels, *GetParam(), 2);
      EXPECT_TRUE(result.passed) << name << ": " << result.fault;
      EXPECT_EQ(result.case_name, name);
      EXPECT_EQ(result.variant, GetParam()->name);
      EXPECT_EQ(result.seed, seed);
      EXPECT_TRUE(result.bitwise_repeatable);
      EXPECT_GT(result.max_abs_error, 0);
      EXPECT_LT(result.max_abs_error, 0.05);
    }
  }
}

TEST_P(EveryVariant, PassesWhereSequencesSharePages) {
  Kernels kernels(*pagoda_kernel_library());
  judge::CaseSpec spec = judge::ParseCaseName("b4_h4_kv2_s600-520-100-512_bs64_hd40_bf16_q1x3-8");
  spec.blocks = {{3, 1}, {3, 2}, {3}, {3}};
  for (const uint64_t seed : {2026, 2029}) {
    const judge::GateResult result = RunGate(GateCase(spec, seed, nullptr), kernels, *GetParam(), 2);
    EXPECT_TRUE(result.passed) << result.fault;
  }
}

// Rows so short that their elements are near zero by chance, where an error relative to the row has no bound.
TEST_P(EveryVariant, PassesOnRowsOfOneElement) {
  Kernels kernels(*pagoda_kernel_library());
  for (const char* dtype : {"f32", "f16", "bf16"}) {
    for (const char* shape : {"b4_h6_kv2_s300-40-7-1_bs16_hd1_{}_decode", "b1_h4_kv4_s90_bs8_hd3_{}_q33",
                              "b2_h2_kv1_s500_bs64_hd1_{}_q20_sinks"}) {
      const judge::CaseSpec spec = judge::ParseCaseName(fmt::format(fmt::runtime(shape), dtype));
      for (uint64_t seed = 1; seed <= 8; ++seed) {
        const judge::GateResult result = RunGate(GateCase(spec, seed, nullptr), kernels, *GetParam(), 2);
        EXPECT_TRUE(result.passed) << spec.name << " seed " << seed << ": " << result.fault;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryVariant,
                         testing::ValuesIn(SoftmaxVariants().begin(), SoftmaxVariants().end()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(Gate, TheSuitesToleranceWinsOverThatOfTheDtype) {
  judge::CaseSpec spec = judge::ParseCaseName("b1_h2_kv2_s40_bs16_hd64_bf16_decode");
  EXPECT_EQ(ToleranceOf(spec).atol, 8e-3);
  spec.atol = 1e-4;
  EXPECT_EQ(ToleranceOf(spec).atol, 1e-4);
  EXPECT_EQ(ToleranceOf(spec).rtol, 8e-3);
  EXPECT_TRUE(ToleranceOf(spec).scale_by_row);
}

TEST(Gate, AVariantThatThrowsHasFailed) {
  SoftmaxVariant throwing = *FindSoftmaxVariant("gather");
  throwing.run = [](const SoftmaxPlanImpl&, const SoftmaxCall&, std::span<std::byte>, ThreadPool&) {
    throw Error(ErrorCode::kInternal, "tile", "is lost");
  };
  Kernels kernels(*pagoda_kernel_library());
  const GateCase gate_case(judge::ParseCaseName("b1_h2_kv2_s40_bs16_hd64_bf16_decode"), 2026, nullptr);
  const judge::GateResult result = RunGate(gate_case, kernels, throwing, 1);
  EXPECT_FALSE(result.passed);
  EXPECT_FALSE(result.bitwise_repeatable);
  EXPECT_EQ(result.fault, "threw: tile is lost");

  throwing.run = [](const SoftmaxPlanImpl&, const SoftmaxCall&, std::span<std::byte>, ThreadPool&) {
    throw Error(ErrorCode::kInternal, "tile", std::string(100000, '\n'));
  };
  EXPECT_LT(RunGate(gate_case, kernels, throwing, 1).fault.size(), 600u) << "a terminal isn't filled";
}

// The output moves in its last bits from call to call: only the promise makes that a fault.
void RunWithNoise(const SoftmaxPlanImpl& plan, const SoftmaxCall& call, std::span<std::byte> workspace,
                  ThreadPool& pool) {
  static int calls = 0;
  FindSoftmaxVariant("gather")->run(plan, call, workspace, pool);
  *static_cast<uint32_t*>(call.out.data) ^= static_cast<uint32_t>(++calls % 3);
}

TEST(Gate, BitsMayDifferOnlyWhereNothingWasPromised) {
  Kernels kernels(*pagoda_kernel_library());
  const GateCase gate_case(judge::ParseCaseName("b1_h2_kv2_s40_bs16_hd64_f32_decode"), 2026, nullptr);
  SoftmaxVariant noisy = *FindSoftmaxVariant("gather");
  noisy.run = RunWithNoise;
  for (const uint32_t promise : {kRepeatable, kThreadInvariant, kBatchInvariant}) {
    noisy.promises = promise;
    EXPECT_NE(RunGate(gate_case, kernels, noisy, 2).fault.find("not the same bits"), std::string::npos)
        << promise;
  }
  noisy.promises = 0;
  const judge::GateResult result = RunGate(gate_case, kernels, noisy, 2);
  EXPECT_TRUE(result.passed) << result.fault;
  EXPECT_FALSE(result.bitwise_repeatable);
}

using HstuGateCase = GateCaseOf<HstuBatch>;

judge::CaseSpec HstuCase() { return judge::ParseCaseName("hstu_b2_h4_kv2_s130-40_bs16_hd64_f32_q4_t2"); }

TEST(HstuGate, EveryVariantPassesAndSaysWhoseBitsItHas) {
  Kernels kernels(*pagoda_kernel_library());
  for (const HstuVariant* variant : HstuVariants()) {
    for (const uint64_t seed : {2026, 2029}) {
      const judge::GateResult result = RunGate(HstuGateCase(HstuCase(), seed, nullptr), kernels, *variant, 2);
      EXPECT_TRUE(result.passed) << variant->name << ": " << result.fault;
      EXPECT_TRUE(result.bitwise_repeatable);
      EXPECT_EQ(result.same_bits_as, variant->same_bits_as);
    }
  }
  EXPECT_EQ(FindHstuVariant("hstu_gather_pipelined")->same_bits_as, "hstu_gather_serial");
}

// Of rows that see one key, whose score is near 0 by chance: its rounding error is all that such a weight is.
TEST(HstuGate, EveryVariantPassesOnRowsOfOneKey) {
  Kernels kernels(*pagoda_kernel_library());
  const judge::CaseSpec spec = judge::ParseCaseName("hstu_b9_h8_kv8_s1_bs16_hd256_f32_decode");
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const HstuGateCase gate_case(spec, seed, nullptr);
    for (const HstuVariant* variant : HstuVariants()) {
      const judge::GateResult result = RunGate(gate_case, kernels, *variant, 1);
      EXPECT_TRUE(result.passed) << variant->name << " seed " << seed << ": " << result.fault;
    }
  }
}

// A right variant, the lowest bit of whose output is another one from the second plan on.
int plans_made = 0;
std::unique_ptr<HstuPlanImpl> CountPlans(const NormalHstuBatch& batch, int threads,
                                         const HstuPlanOptions& options) {
  ++plans_made;
  return FindHstuVariant("hstu_fused")->plan(batch, threads, options);
}
void FlipInLaterPlans(const HstuPlanImpl& plan, const HstuCall& call, std::span<std::byte> workspace,
                      ThreadPool& pool) {
  FindHstuVariant("hstu_fused")->run(plan, call, workspace, pool);
  if (plans_made > 1) *static_cast<uint32_t*>(call.out.data) ^= 1;
}

TEST(HstuGate, AFreshPlanGivesTheBitsOfAReusedOne) {
  HstuVariant changing = *FindHstuVariant("hstu_fused");
  changing.plan = CountPlans;
  changing.run = FlipInLaterPlans;
  Kernels kernels(*pagoda_kernel_library());
  const HstuGateCase gate_case(HstuCase(), 2026, nullptr);
  plans_made = 0;
  EXPECT_THAT(RunGate(gate_case, kernels, changing, 2).fault,
              testing::StartsWith("fresh plan against a reused one: not the same bits"));
  changing.promises = 0;
  plans_made = 0;
  const judge::GateResult result = RunGate(gate_case, kernels, changing, 2);
  EXPECT_TRUE(result.passed) << result.fault;
  EXPECT_FALSE(result.bitwise_repeatable);
}

void FlipTheLowestBit(const HstuPlanImpl& plan, const HstuCall& call, std::span<std::byte> workspace,
                      ThreadPool& pool) {
  FindHstuVariant("hstu_gather_serial")->run(plan, call, workspace, pool);
  *static_cast<uint32_t*>(call.out.data) ^= 1;
}

TEST(HstuGate, TheBitsOfAnotherVariantAreThoseThatWerePromised) {
  HstuVariant other = *FindHstuVariant("hstu_gather_serial");
  other.promises = 0;
  other.run = FlipTheLowestBit;
  other.same_bits_as = "hstu_gather_serial";
  Kernels kernels(*pagoda_kernel_library());
  const HstuGateCase gate_case(HstuCase(), 2026, nullptr);
  const judge::GateResult result = RunGate(gate_case, kernels, other, 2);
  EXPECT_THAT(result.fault, testing::StartsWith("against hstu_gather_serial: not the same bits"));
  EXPECT_EQ(result.same_bits_as, "");
  other.same_bits_as = "hstu_gone";
  EXPECT_EQ(RunGate(gate_case, kernels, other, 2).fault, "promises the bits of hstu_gone, which isn't there");
}

// The oracle computes a sample of a large case's rows; the others are looked at for this alone.
TEST(GuardedOutput, NamesWhatIsNotFinite) {
  Kernels kernels(*pagoda_kernel_library());
  const SoftmaxInputs inputs(judge::ParseCaseName("b1_h2_kv2_s40_bs16_hd64_f32_q3"), {.seed = 1});
  GuardedRun run(kernels, *FindSoftmaxVariant("gather"), inputs.batch(), 1, DType::kF32);
  run.Poison();
  EXPECT_EQ(run.FirstNotFinite(), "o[0][0][0] is NaN");
  run.Run(inputs.call(0));
  EXPECT_EQ(run.FirstNotFinite(), std::nullopt);
  static_cast<float*>(run.lse().data)[1] = -std::numeric_limits<float>::infinity();  // of a row without a key
  EXPECT_EQ(run.FirstNotFinite(), std::nullopt);
  static_cast<float*>(run.out().data)[(2 * 2 + 1) * 64 + 5] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(run.FirstNotFinite(), "o[2][1][5] is infinite");
}

}  // namespace
}  // namespace pagoda::app
