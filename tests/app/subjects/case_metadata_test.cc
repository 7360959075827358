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
  const CaseMetadata m = ReadCaseMetadata({{"operator", "softmax_paged_attention"}});
  EXPECT_EQ(m.layout, KvLayout::kNHD);
  EXPECT_FALSE(m.softmax.scale);
  EXPECT_TRUE(m.softmax.causal);
  EXPECT_EQ(m.softmax.window_left, -1);
  EXPECT_EQ(m.softmax.window_right, -1);
  EXPECT_EQ(m.softmax.softcap, 0);
  EXPECT_TRUE(m.return_lse);
  EXPECT_FALSE(m.atol || m.rtol);
}

TEST(CaseMetadata, ReadsEveryKey) {
  const CaseMetadata m = ReadCaseMetadata({{"operator", "softmax_paged_attention"},
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
  EXPECT_EQ(m.softmax.scale, -0.25F);
  EXPECT_FALSE(m.softmax.causal);
  EXPECT_EQ(m.softmax.window_left, 0);
  EXPECT_EQ(m.softmax.window_right, INT64_MAX);
  EXPECT_EQ(m.softmax.softcap, 30);
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
      {"alpha", "1",
       "alpha = \"1\" is a metadata key of hstu_paged_attention, not of softmax_paged_attention; remove it"},
      {"windw_left", "3",
       "windw_left = \"3\" is not a metadata key of softmax_paged_attention; did you mean \"window_left\"?"},
  };
  for (const Wrong& w : wrongs) ExpectError([&] { ReadCaseMetadata(With(w.key, w.value)); }, w.key, w.text);
}

Metadata Hstu(const std::string& key, const std::string& value) {
  Metadata metadata = {{"operator", "hstu_attention"}, {"max_seq_len", "64"}};
  metadata[key] = value;
  return metadata;
}

TEST(CaseMetadata, DefaultsOfHstuAreTheDocumentedOnes) {
  const CaseMetadata m = ReadCaseMetadata({{"operator", "hstu_paged_attention"}, {"max_seq_len", "20"}});
  EXPECT_EQ(m.op, CaseOperator::kHstuPaged);
  EXPECT_EQ(m.hstu.mask, HstuMask::kCausal);
  EXPECT_EQ(m.hstu.alpha, 1);
  EXPECT_EQ(m.hstu.silu_scale, 0);
  EXPECT_EQ(m.hstu.max_seq_len, 20);
  EXPECT_EQ(m.hstu.target_group_size, 1);
  EXPECT_EQ(m.hstu.window_left, -1);
  EXPECT_EQ(m.hstu.window_right, -1);
  EXPECT_EQ(m.hstu.max_attn_len, 0);
  EXPECT_EQ(m.hstu.min_full_attn_seq_len, 0);
}

TEST(CaseMetadata, ReadsEveryKeyOfHstu) {
  const CaseMetadata m = ReadCaseMetadata({{"operator", "hstu_attention"},
                                           {"mask", "interval"},
                                           {"alpha", "-0.5"},
                                           {"silu_scale", "0.25"},
                                           {"target_group_size", "3"},
                                           {"window_left", "7"},
                                           {"window_right", "0"},
                                           {"max_attn_len", "5"},
                                           {"min_full_attn_seq_len", "6"}});
  EXPECT_EQ(m.op, CaseOperator::kHstu);
  EXPECT_EQ(m.hstu.mask, HstuMask::kInterval);
  EXPECT_EQ(m.hstu.alpha, -0.5F);
  EXPECT_EQ(m.hstu.silu_scale, 0.25F);
  EXPECT_EQ(m.hstu.target_group_size, 3);
  EXPECT_EQ(m.hstu.window_left, 7);
  EXPECT_EQ(m.hstu.window_right, 0);
  EXPECT_EQ(m.hstu.max_attn_len, 5);
  EXPECT_EQ(m.hstu.min_full_attn_seq_len, 6);
}

TEST(CaseMetadata, RefusesWrongValuesOfHstuByName) {
  const Wrong wrongs[] = {
      {"mask", "full", "mask = \"full\" must be none, causal, dense or interval"},
      {"alpha", "inf", "alpha = \"inf\" is not finite"},
      {"max_seq_len", "0", "max_seq_len = 0 must be at least 1"},
      {"max_seq_len", "2.5", "max_seq_len = \"2.5\" has \".5\" behind a whole number"},
      {"target_group_size", "0", "target_group_size = 0 must be at least 1"},
      {"max_attn_len", "-1", "max_attn_len = -1 must be at least 0"},
      {"min_full_attn_seq_len", "-1", "min_full_attn_seq_len = -1 must be at least 0"},
      {"window_left", "-2", "window_left = -2 must be at least -1 (-1: unbounded)"},
      {"softcap", "1",
       "softcap = \"1\" is a metadata key of softmax_paged_attention, not of hstu_attention; remove it"},
      {"kv_layout", "NHD",
       "kv_layout = \"NHD\" is a metadata key of softmax_paged_attention, not of hstu_attention; remove it"},
      {"silu_scal", "1",
       "silu_scal = \"1\" is not a metadata key of hstu_attention; did you mean \"silu_scale\"?"},
  };
  for (const Wrong& w : wrongs) {
    ExpectError([&] { ReadCaseMetadata(Hstu(w.key, w.value)); }, w.key, w.text);
  }
  ExpectError(
      [] { ReadCaseMetadata({{"operator", "hstu_attention"}}); }, "max_seq_len",
      "max_seq_len is missing from the metadata: give it or silu_scale, which is 1 / max_seq_len otherwise");
}

TEST(CaseMetadata, OperatorsAreKnownOrRefused) {
  ExpectError(
      [] { ReadCaseMetadata({}); }, "operator",
      "operator is missing from the metadata; it must be softmax_paged_attention, hstu_paged_attention, "
      "hstu_attention");
  ExpectError(
      [] { ReadCaseMetadata({{"operator", "softmax_paged_atention"}}); }, "operator",
      "operator = \"softmax_paged_atention\" is none of softmax_paged_attention, hstu_paged_attention, "
      "hstu_attention; did you mean \"softmax_paged_attention\"?");
}

}  // namespace
}  // namespace pagoda::app
