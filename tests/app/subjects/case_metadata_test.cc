#include "app/subjects/case_metadata.h"

#include <gtest/gtest.h>

#include "engine/expect_error.h"

namespace pagoda::app {
namespace {

using testing::ExpectError;

Metadata With(const std::string& key, const std::string& value) {
  return {{"operator", "softmax_paged_attention"}, {key, value}};
}

TEST(CaseMetadata, DefaultsAreTheDocumentedOnes) {
  const SoftmaxMetadata m = ReadSoftmaxMetadata({{"operator", "softmax_paged_attention"}});
  EXPECT_EQ(m.layout, KvLayout::kNHD);
  EXPECT_FALSE(m.params.scale);
  EXPECT_TRUE(m.params.causal);
  EXPECT_EQ(m.params.window_left, -1);
  EXPECT_EQ(m.params.window_right, -1);
  EXPECT_EQ(m.params.softcap, 0);
  EXPECT_TRUE(m.return_lse);
  EXPECT_FALSE(m.atol || m.rtol);
}

TEST(CaseMetadata, ReadsEveryKey) {
  const SoftmaxMetadata m = ReadSoftmaxMetadata({{"operator", "softmax_paged_attention"},
                                                 {"kv_layout", "HND"},
                                                 {"scale", "-2.5e-1"},
                                                 {"causal", "false"},
                                                 {"window_left", "0"},
                                                 {"window_right", "9223372036854775807"},
                                                 {"softcap", "30"},
                                                 {"return_lse", "false"},
                                                 {"atol", "1e-5"},
                                                 {"rtol", "0"},
                                                 {"note", "anything"},
                                                 {"source", "torch"},
                                                 {"format", "pt"}});
  EXPECT_EQ(m.layout, KvLayout::kHND);
  EXPECT_EQ(m.params.scale, -0.25F);
  EXPECT_FALSE(m.params.causal);
  EXPECT_EQ(m.params.window_left, 0);
  EXPECT_EQ(m.params.window_right, INT64_MAX);
  EXPECT_EQ(m.params.softcap, 30);
  EXPECT_FALSE(m.return_lse);
  EXPECT_EQ(m.atol, 1e-5);
  EXPECT_EQ(m.rtol, 0);
  EXPECT_EQ(m.source, "torch");
}

struct Wrong {
  const char* key;
  const char* value;
  const char* text;
};

TEST(CaseMetadata, RefusesWrongValuesByName) {
  const Wrong wrongs[] = {
      {"scale", "fast", "scale = \"fast\" is not a number"},
      {"scale", "", "scale = \"\" is not a number"},
      {"scale", " 1", "scale = \" 1\" is not a number"},
      {"scale", "1 ", "scale = \"1 \" has \" \" behind a number"},
      {"scale", "0.5x", "scale = \"0.5x\" has \"x\" behind a number"},
      {"scale", "nan", "scale = \"nan\" is not finite"},
      {"scale", "-inf", "scale = \"-inf\" is not finite"},
      {"scale", "1e999", "scale = \"1e999\" is out of range"},
      {"scale", "1e39", "scale = \"1e39\" is out of the range of f32"},
      {"softcap", "-1", "softcap = -1 must be at least 0 (0: none)"},
      {"causal", "True", "causal = \"True\" must be true or false"},
      {"return_lse", "1", "return_lse = \"1\" must be true or false"},
      {"window_left", "-2", "window_left = -2 must be at least -1 (-1: unbounded)"},
      {"window_right", "3.0", "window_right = \"3.0\" has \".0\" behind a whole number"},
      {"window_right", "9223372036854775808", "window_right = \"9223372036854775808\" is out of range"},
      {"kv_layout", "nhd", "kv_layout = \"nhd\" must be NHD or HND"},
      {"atol", "-1e-3", "atol = -1e-3 must not be negative"},
      {"rtol", "inf", "rtol = \"inf\" is not finite"},
      {"alpha", "1", "alpha = \"1\" is a metadata key of HSTU, not of softmax_paged_attention; remove it"},
      {"windw_left", "3",
       "windw_left = \"3\" is not a metadata key of softmax_paged_attention; did you mean \"window_left\"?"},
  };
  for (const Wrong& w : wrongs)
    ExpectError([&] { ReadSoftmaxMetadata(With(w.key, w.value)); }, w.key, w.text);
}

TEST(CaseMetadata, OperatorsAreKnownUnknownOrNotBuiltYet) {
  ExpectError(
      [] { ReadSoftmaxMetadata({}); }, "operator",
      "operator is missing from the metadata; it must be softmax_paged_attention, hstu_paged_attention, "
      "hstu_attention");
  ExpectError([] { ReadSoftmaxMetadata({{"operator", "hstu_attention"}}); }, "operator",
              "operator = hstu_attention is not built yet; this version computes softmax_paged_attention",
              ErrorCode::kUnsupported);
  ExpectError(
      [] { ReadSoftmaxMetadata({{"operator", "softmax_paged_atention"}}); }, "operator",
      "operator = \"softmax_paged_atention\" is none of softmax_paged_attention, hstu_paged_attention, "
      "hstu_attention; did you mean \"softmax_paged_attention\"?");
}

}  // namespace
}  // namespace pagoda::app
