#include "app/subjects/shared_call.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "app/subjects/call_inputs.h"
#include "app/subjects/fault.h"
#include "app/subjects/operator.h"
#include "judge/bench/case_name.h"

namespace pagoda::app {
namespace {

constexpr OutputShape kOut = {.rows = 6, .heads = 4, .dim = 8};

HstuInputs Inputs(const char* name) { return HstuInputs(judge::ParseCaseName(name), {.seed = 1}); }

CallInputs InputsIn(const HstuInputs& inputs) {
  return InputsOfCall(Normalise(inputs.batch()), inputs.call(0));
}

std::array<std::string, kCallInputs> PathsOf(const SharedCall& call) {
  std::array<std::string, kCallInputs> paths;
  const ProgramTensors tensors = call.tensors();
  for (size_t i = 0; i < kCallInputs; ++i) {
    if (!tensors.inputs[i].empty()) paths[i] = tensors.inputs[i].front().path;
  }
  return paths;
}

TEST(CallInputs, AreThoseThatACaseHas) {
  const HstuInputs most = Inputs("hstu_b2_h4_kv2_s40-9_bs16_hd8_f32_q3_t2_rab");
  for (const TensorView& t : InputsIn(most)) EXPECT_FALSE(t.empty());
  const HstuInputs least = Inputs("hstu_b2_h4_kv2_s40-9_bs16_hd8_f32_q3");
  for (const CallInput input : {kInputTargetK, kInputTargetV, kInputRab})
    EXPECT_TRUE(InputsIn(least)[input].empty()) << NameOf(input);
}

// One bias for all heads of each sequence, every other row and key of a larger tensor.
TEST(CallInputs, RabKeepsItsStrides) {
  const HstuInputs inputs = Inputs("hstu_b2_h4_kv2_s40-9_bs16_hd8_f32_q3");
  std::vector<float> values(960);
  HstuCall call = inputs.call(0);
  call.rab = TensorView::Dense(values.data(), DType::kF32, {2, 1, 3, 40});
  call.rab.strides = {480, 7, 160, 2};
  EXPECT_EQ(StridesOfRab(call.rab), (std::array<int64_t, 4>{480, 0, 160, 2}));
  const TensorView row = InputsOfCall(Normalise(inputs.batch()), call)[kInputRab];
  EXPECT_EQ(row.elements(), 480 + 2 * 160 + 39 * 2 + 1) << "to the last element that is read";
}

TEST(SharedCall, StaysWhereItIsAsLongAsTheShapesStay) {
  const HstuInputs inputs = Inputs("hstu_b2_h4_kv2_s40-9_bs16_hd8_f32_q3_t2_rab");
  HstuCall call = inputs.call(0);
  const NormalHstuBatch batch = Normalise(inputs.batch());
  SharedCall shared;
  shared.MakeRoom(InputsOfCall(batch, call), kOut, false);
  const auto paths = PathsOf(shared);
  shared.MakeRoom(InputsOfCall(batch, call), kOut, false);
  EXPECT_EQ(PathsOf(shared), paths);
  EXPECT_FALSE(shared.tensors().lse.has_value());

  call.rab = {};
  shared.MakeRoom(InputsOfCall(batch, call), kOut, false);
  auto without = paths;
  without[kInputRab].clear();
  EXPECT_EQ(PathsOf(shared), without);
}

TEST(SharedCall, NamesEachInputThatWasWrittenTo) {
  const HstuInputs inputs = Inputs("hstu_b2_h4_kv2_s40-9_bs16_hd8_f32_q3_t2_rab");
  const CallInputs call = InputsIn(inputs);
  SharedCall shared;
  shared.MakeRoom(call, kOut, false);
  shared.Fill(call);
  EXPECT_NO_THROW(shared.RequireUndamaged(call));
  for (size_t i = 0; i < kCallInputs; ++i) {
    // The last byte of the input, written where the program would write its copy's.
    const TensorView& t = call[i];
    std::byte* const last = static_cast<std::byte*>(t.data) + t.elements() * SizeOf(t.dtype) - 1;
    *last ^= std::byte{1};
    try {
      shared.RequireUndamaged(call);
      ADD_FAILURE() << NameOf(static_cast<CallInput>(i));
    } catch (const Fault& fault) {
      EXPECT_EQ(fault.what(), "an input was written to: " + std::string(NameOf(static_cast<CallInput>(i))));
    }
    *last ^= std::byte{1};
  }
}

TEST(SharedCall, GivesTheOutputBackAsItWasWritten) {
  const HstuInputs inputs = Inputs("hstu_b2_h4_kv2_s40-9_bs16_hd8_f32_q3_t2_rab");
  const CallInputs call = InputsIn(inputs);
  SharedCall shared;
  shared.MakeRoom(call, kOut, false);
  shared.Fill(call);
  std::vector<float> out(2 * kOut.rows * kOut.heads * kOut.dim);
  // Rows of twice the width.
  TensorView view = TensorView::Dense(out.data(), DType::kF32, {kOut.rows, kOut.heads, kOut.dim});
  view.strides[0] *= 2;
  shared.TakeOutput(view, {});
  const int64_t row = kOut.heads * kOut.dim;
  for (int64_t i = 0; i < std::ssize(out); ++i)
    EXPECT_EQ(std::isnan(out[i]), i / row % 2 == 0) << i << ": NaN was put there, and not in between";
}

}  // namespace
}  // namespace pagoda::app
