#include "judge/bench/case_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string RefusalOf(std::string_view name) {
  try {
    ParseCaseName(name);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
    return e.what();
  }
  return "accepted";
}

// Rows are the last of their keys, and parts go together.
template <typename Draw>
void DrawHstu(CaseSpec& s, Draw draw) {
  s.op = CaseOp::kHstuPaged;
  for (size_t b = 0; b < s.queries.size(); ++b) s.queries[b] = std::min(s.queries[b], s.contexts[b]);
  const int64_t fewest = *std::min_element(s.queries.begin(), s.queries.end());
  s.targets = draw(0, fewest);
  s.rab = draw(0, 1) == 1;
  if (!s.causal) return;
  const int64_t shortest = *std::min_element(s.contexts.begin(), s.contexts.end());
  s.contextual = draw(0, std::max<int64_t>(0, shortest - s.targets));
  if (s.window_left < 0 && s.window_right < 0 && draw(0, 1) == 1) {
    s.max_attn_len = draw(1, 50);
    s.min_full_attn_seq_len = draw(0, 3);
  } else {
    s.target_group = draw(1, 3);
  }
}

TEST(CaseName, GivesTheNamesOfTheDesign) {
  CaseSpec spec;
  spec.contexts = {4096};
  spec.queries = {1};
  spec.q_heads = 16;
  spec.kv_heads = 8;
  spec.page_size = 64;
  EXPECT_EQ(CaseName(spec), "b1_h16_kv8_s4096_bs64_hd128_bf16_decode");
  spec.queries = {512};
  EXPECT_EQ(CaseName(spec), "b1_h16_kv8_s4096_bs64_hd128_bf16_q512");
  spec.hnd = spec.padded = true;
  spec.cold = false;
  spec.head_dim_v = 64;
  EXPECT_EQ(CaseName(spec), "b1_h16_kv8_s4096_bs64_hd128_bf16_q512_dv64_hnd_padded_warm");
}

TEST(CaseName, ShortensRunsOfEqualLengths) {
  CaseSpec spec;
  spec.contexts = {512, 512, 512, 4096};
  spec.queries = {1, 1, 1, 512};
  EXPECT_EQ(CaseName(spec), "b4_h1_kv1_s512x3-4096_bs16_hd128_bf16_q1x3-512");
  spec.contexts = {512, 512, 512, 512};
  EXPECT_EQ(CaseName(spec), "b4_h1_kv1_s512_bs16_hd128_bf16_q1x3-512");
}

TEST(ParseCaseName, ReadsEveryPart) {
  const CaseSpec s = ParseCaseName(
      "b3_h12_kv4_s7-100x2_bs1_hd80_f16_q2-1x2_dv40_hnd_padded_i64_noncausal_wl5_wr0_cap30.5_alibi_sinks_"
      "warm");
  EXPECT_THAT(s.contexts, ElementsAre(7, 100, 100));
  EXPECT_THAT(s.queries, ElementsAre(2, 1, 1));
  EXPECT_EQ(s.q_heads, 12);
  EXPECT_EQ(s.kv_heads, 4);
  EXPECT_EQ(s.page_size, 1);
  EXPECT_EQ(s.head_dim, 80);
  EXPECT_EQ(s.head_dim_v, 40);
  EXPECT_EQ(s.dtype, DType::kF16);
  EXPECT_TRUE(s.hnd && s.padded && s.index64 && s.alibi && s.sinks);
  EXPECT_FALSE(s.combined || s.causal || s.cold);
  EXPECT_EQ(s.window_left, 5);
  EXPECT_EQ(s.window_right, 0);
  EXPECT_EQ(s.softcap, 30.5);
}

TEST(ParseCaseName, ReadsEveryPartOfHstu) {
  const CaseSpec s = ParseCaseName("hstu_b2_h4_kv2_s90-70_bs16_hd64_bf16_q30_hnd_wl20_t12_g3_c5_rab_warm");
  EXPECT_EQ(s.op, CaseOp::kHstuPaged);
  EXPECT_THAT(s.contexts, ElementsAre(90, 70));
  EXPECT_EQ(s.window_left, 20);
  EXPECT_EQ(s.targets, 12);
  EXPECT_EQ(s.target_group, 3);
  EXPECT_EQ(s.contextual, 5);
  EXPECT_TRUE(s.rab);
  const CaseSpec other = ParseCaseName("hstu_b1_h4_kv2_s90_bs16_hd64_bf16_q30_al40_fa8");
  EXPECT_EQ(other.max_attn_len, 40);
  EXPECT_EQ(other.min_full_attn_seq_len, 8);
}

TEST(ParseCaseName, RefusesHstuThatHasNoMeaning) {
  const std::string good = "hstu_b1_h4_kv2_s64_bs16_hd64_bf16_q8";
  ASSERT_EQ(RefusalOf(good), "accepted");
  EXPECT_THAT(RefusalOf(good + "_sinks"), HasSubstr("_t _g _c _al _fa _rab"));
  EXPECT_THAT(RefusalOf("b1_h4_kv2_s64_bs16_hd64_bf16_q8_t4"), HasSubstr("_cap _alibi _sinks"));
  EXPECT_THAT(RefusalOf(good + "_t9"), HasSubstr("targets = 9 is outside 0..8"));
  EXPECT_THAT(RefusalOf(good + "_t8_c57"), HasSubstr("contextual = 57 is outside 0..56"));
  EXPECT_THAT(RefusalOf("hstu_b1_h4_kv2_s64_bs16_hd64_bf16_q65"),
              HasSubstr("queries[0] = 65 is outside 0..64"));
  EXPECT_THAT(RefusalOf(good + "_wl4_al3"), HasSubstr("max_attn_len can't go with"));
  EXPECT_THAT(RefusalOf(good + "_t4_g2_al3"), HasSubstr("max_attn_len can't go with"));
  EXPECT_THAT(RefusalOf(good + "_noncausal_c3"), HasSubstr("causal = false goes with a window only"));
  EXPECT_THAT(RefusalOf(good + "_g1"), HasSubstr("a group of targets in 2.."));
}

TEST(ParseCaseName, IsTheInverseOfCaseName) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int i = 0; i < 2000; ++i) {
    CaseSpec s;
    const int64_t batch = draw(1, 6);
    for (int64_t b = 0; b < batch; ++b) {
      s.contexts.push_back(draw(b == 0 ? 1 : 0, 3) * 100);
      s.queries.push_back(draw(b == 0 ? 1 : 0, 3));
    }
    s.kv_heads = draw(1, 8);
    s.q_heads = s.kv_heads * draw(1, 16);
    s.page_size = draw(1, 300);
    s.head_dim = s.head_dim_v = draw(1, 576);
    s.dtype = std::array{DType::kF32, DType::kF16, DType::kBF16}[draw(0, 2)];
    s.combined = draw(0, 1) == 1;
    if (!s.combined) s.head_dim_v = draw(1, 576);
    s.hnd = draw(0, 1) == 1;
    s.padded = draw(0, 1) == 1;
    s.index64 = draw(0, 1) == 1;
    s.causal = draw(0, 1) == 1;
    s.window_left = draw(-1, 2);
    s.window_right = draw(-1, 2);
    if (draw(0, 1) == 0) {
      s.softcap = static_cast<double>(draw(0, 5)) / 3;
      s.alibi = draw(0, 1) == 1;
      s.sinks = draw(0, 1) == 1;
    } else {
      DrawHstu(s, draw);
    }
    s.cold = draw(0, 1) == 1;
    const std::string name = CaseName(s);
    SCOPED_TRACE(name);
    const CaseSpec back = ParseCaseName(name);
    EXPECT_EQ(back.name, name);
    EXPECT_EQ(back.contexts, s.contexts);
    EXPECT_EQ(back.queries, s.queries);
    EXPECT_EQ(back.op, s.op);
    EXPECT_EQ(back.softcap, s.softcap);
    EXPECT_EQ(back.targets, s.targets);
    EXPECT_EQ(back.max_attn_len, s.max_attn_len);
    EXPECT_EQ(back.window_left, s.window_left);
    EXPECT_EQ(CaseName(back), name);
  }
}

// A name holds all that a launch needs to make its inputs, besides blocks and tolerances, and a given name
// ("name" in a suite) may hide any of it.
TEST(ProblemOf, ChangesWithEverythingThatMakesACase) {
  const CaseSpec spec = ParseCaseName("b2_h16_kv8_s100-200_bs64_hd128_bf16_q2-3");
  const auto changed = [&spec](auto change) {
    CaseSpec other = spec;
    change(other);
    std::vector<std::string> names;
    for (const DefinitionChange& c : Changes(ProblemOf(spec), ProblemOf(other))) names.push_back(c.name);
    return fmt::format("{}", fmt::join(names, ", "));
  };
  EXPECT_EQ(changed([](CaseSpec&) {}), "");
  EXPECT_EQ(changed([](CaseSpec& s) { s.contexts = {200, 100}; }), "contexts");
  EXPECT_EQ(changed([](CaseSpec& s) { s.queries = {3, 2}; }), "queries");
  EXPECT_EQ(changed([](CaseSpec& s) { s.contexts = s.queries = {5}; }), "batch, contexts, queries");
  EXPECT_EQ(changed([](CaseSpec& s) { s.op = CaseOp::kHstuPaged; }), "op");
  EXPECT_EQ(changed([](CaseSpec& s) { s.targets = 1; }), "targets");
  EXPECT_EQ(changed([](CaseSpec& s) { s.target_group = 2; }), "target_group");
  EXPECT_EQ(changed([](CaseSpec& s) { s.contextual = 1; }), "contextual");
  EXPECT_EQ(changed([](CaseSpec& s) { s.max_attn_len = 9; }), "max_attn_len");
  EXPECT_EQ(changed([](CaseSpec& s) { s.min_full_attn_seq_len = 9; }), "min_full_attn_seq_len");
  EXPECT_EQ(changed([](CaseSpec& s) { s.rab = true; }), "rab");
  EXPECT_EQ(changed([](CaseSpec& s) { s.q_heads = 8; }), "q_heads");
  EXPECT_EQ(changed([](CaseSpec& s) { s.kv_heads = 4; }), "kv_heads");
  EXPECT_EQ(changed([](CaseSpec& s) { s.head_dim = 64; }), "head_dim");
  EXPECT_EQ(changed([](CaseSpec& s) { s.head_dim_v = 64; }), "head_dim_v");
  EXPECT_EQ(changed([](CaseSpec& s) { s.page_size = 16; }), "page_size");
  EXPECT_EQ(changed([](CaseSpec& s) { s.hnd = true; }), "layout");
  EXPECT_EQ(changed([](CaseSpec& s) { s.combined = true; }), "combined");
  EXPECT_EQ(changed([](CaseSpec& s) { s.padded = true; }), "table");
  EXPECT_EQ(changed([](CaseSpec& s) { s.index64 = true; }), "index");
  EXPECT_EQ(changed([](CaseSpec& s) { s.causal = false; }), "causal");
  EXPECT_EQ(changed([](CaseSpec& s) { s.window_left = 7; }), "window_left");
  EXPECT_EQ(changed([](CaseSpec& s) { s.window_right = 7; }), "window_right");
  EXPECT_EQ(changed([](CaseSpec& s) { s.softcap = 30; }), "softcap");
  EXPECT_EQ(changed([](CaseSpec& s) { s.alibi = true; }), "alibi");
  EXPECT_EQ(changed([](CaseSpec& s) { s.sinks = true; }), "sinks");
  EXPECT_EQ(changed([](CaseSpec& s) { s.atol = 0.1; }), "atol");
  EXPECT_EQ(changed([](CaseSpec& s) { s.rtol = 0.1; }), "rtol");
  EXPECT_EQ(changed([](CaseSpec& s) { s.blocks = {{0}, {0}}; }), "shared blocks");
}

TEST(ProblemOf, TellsWhichSequencesShareABlock) {
  CaseSpec spec = ParseCaseName("b2_h16_kv8_s1024_bs64_hd128_bf16_decode");
  std::set<std::string> texts;
  for (const auto& blocks : std::vector<std::vector<std::vector<int64_t>>>{
           {{0, 1}, {0, 2}}, {{0, 1}, {2, 1}}, {{0, 1}, {0, 1}}, {{0}, {1, 0, 2}}}) {
    spec.blocks = blocks;
    texts.insert(ProblemOf(spec).at("shared blocks"));
  }
  EXPECT_EQ(texts.size(), 4u);
}

TEST(ParseCaseName, NamesTheCharacterAndWhatWasExpected) {
  EXPECT_THAT(RefusalOf("b1_h16_kv8_s4096_bs64_hd128_int8_decode"),
              AllOf(HasSubstr("\"int8\" at character 29"), HasSubstr("f32, f16 or bf16")));
  EXPECT_THAT(RefusalOf("b1_h16_kv8_s4096_bs64_hd128_bf16"), HasSubstr("_decode or _q<rows>"));
  EXPECT_THAT(RefusalOf("h16_kv8"), HasSubstr("b<batch>"));
  EXPECT_THAT(RefusalOf(""), HasSubstr("b<batch>"));
}

TEST(ParseCaseName, RefusesWhatIsNotOneCase) {
  const std::string good = "b2_h4_kv2_s64_bs16_hd64_bf16_decode";
  ASSERT_EQ(RefusalOf(good), "accepted");
  EXPECT_THAT(RefusalOf(good + "_warm_hnd"), HasSubstr("in this order"));
  EXPECT_THAT(RefusalOf(good + "_hndx"), HasSubstr("_hnd"));
  EXPECT_THAT(RefusalOf(good + "_"), HasSubstr("expected"));
  EXPECT_THAT(RefusalOf("b0_h4_kv2_s64_bs16_hd64_bf16_decode"), HasSubstr("1.."));
  EXPECT_THAT(RefusalOf("b-2_h4_kv2_s64_bs16_hd64_bf16_decode"), HasSubstr("1.."));
  EXPECT_THAT(RefusalOf("b99999999999999999999_h4_kv2_s64_bs16_hd64_bf16_decode"), HasSubstr("1.."));
  EXPECT_THAT(RefusalOf("b2_h4_kv2_s64x9999999_bs16_hd64_bf16_decode"), HasSubstr("repeat count in 2..2"));
  EXPECT_THAT(RefusalOf("b2_h4_kv2_s1-2-3_bs16_hd64_bf16_decode"), HasSubstr("2 lengths"));
  EXPECT_THAT(RefusalOf("b2_h5_kv2_s64_bs16_hd64_bf16_decode"), HasSubstr("not a multiple of kv_heads"));
  EXPECT_THAT(RefusalOf("b2_h4_kv2_s64_bs16_hd64_bf16_q0"), HasSubstr("queries are 0 in every sequence"));
  EXPECT_THAT(RefusalOf("b2_h4_kv2_s64_bs16_hd64_bf16_decode_capnan"), HasSubstr("softcap"));
  EXPECT_THAT(RefusalOf("b2_h4_kv2_s64_bs16_hd64_bf16_decode_cap-1"), HasSubstr("softcap = -1"));
  EXPECT_THAT(RefusalOf("b2_h4_kv2_s64_bs16_hd64_bf16_decode_dv32_combined"), HasSubstr("head_dim_v = 32"));
}

TEST(ParseCaseName, RefusesASecondSpellingOfACase) {
  EXPECT_THAT(RefusalOf("b2_h4_kv2_s64x2_bs16_hd64_bf16_decode"),
              HasSubstr("is written \"b2_h4_kv2_s64_bs16_hd64_bf16_decode\""));
  EXPECT_THAT(RefusalOf("b2_h4_kv2_s064_bs16_hd64_bf16_decode"), HasSubstr("is written"));
  EXPECT_THAT(RefusalOf("b2_h4_kv2_s64_bs16_hd64_bf16_q1"), HasSubstr("is written"));
  EXPECT_THAT(RefusalOf("b2_h4_kv2_s64_bs16_hd64_bf16_decode_dv64"), HasSubstr("is written"));
  EXPECT_THAT(RefusalOf("b2_h4_kv2_s64_bs16_hd64_bf16_decode_cap0"), HasSubstr("is written"));
}

TEST(CheckCase, NamesTheField) {
  CaseSpec spec = ParseCaseName("b1_h4_kv2_s64_bs16_hd64_bf16_decode");
  const auto field_of = [](const CaseSpec& s) {
    try {
      CheckCase(s);
    } catch (const Error& e) {
      return e.field();
    }
    return std::string();
  };
  EXPECT_EQ(field_of(spec), "");
  CaseSpec bad = spec;
  bad.weight = 0;
  EXPECT_EQ(field_of(bad), "weight");
  bad = spec;
  bad.rtol = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(field_of(bad), "rtol");
  bad = spec;
  bad.window_right = -2;
  EXPECT_EQ(field_of(bad), "window_right");
  bad = spec;
  bad.queries.clear();
  EXPECT_EQ(field_of(bad), "queries");
  bad.queries = {0};
  EXPECT_EQ(field_of(bad), "queries");
  bad.contexts = {0, 64};
  bad.queries = {0, 1};
  EXPECT_EQ(field_of(bad), "");
  bad.queries = {-1, 1};
  EXPECT_EQ(field_of(bad), "queries[0]");
  bad = spec;
  bad.targets = 1;
  EXPECT_EQ(field_of(bad), "targets");
  bad = spec;
  bad.blocks = {{1}, {2}};
  EXPECT_EQ(field_of(bad), "blocks");
  bad.blocks = {{1}};
  EXPECT_EQ(field_of(bad), "");
  bad.page_size = 1024;
  EXPECT_EQ(field_of(bad), "page_size");
}

TEST(CheckCase, BoundsWhatTheWholeBatchTakes) {
  const auto refusal_of = [](int64_t batch, int64_t context, int64_t page_size, bool padded = false) {
    CaseSpec spec;
    spec.contexts.assign(batch, 1);
    spec.contexts[0] = context;
    if (!padded) spec.contexts.assign(batch, context);
    spec.queries.assign(batch, 1);
    spec.page_size = page_size;
    spec.padded = padded;
    try {
      CheckCase(spec);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal_of(1, 1 << 30, 64), "");
  EXPECT_EQ(refusal_of(2, 1 << 29, 64), "");
  EXPECT_EQ(
      refusal_of(65536, 1048577, 16),
      "context gives 68719542272 keys over the 65536 sequences of the batch, more than 1073741824; take "
      "fewer of either");
  EXPECT_EQ(refusal_of(1, 1 << 24, 1), "");
  EXPECT_EQ(refusal_of(1, (1 << 24) + 1, 1),
            "page_size = 1 gives a table of 16777217 pages, more than 16777216; take larger pages, or fewer "
            "keys or sequences");
  EXPECT_EQ(refusal_of(65536, 1 << 8, 1, true), "");
  EXPECT_NE(refusal_of(65536, (1 << 8) + 1, 1, true), "") << "every row is as wide as the longest sequence";

  CaseSpec spec = ParseCaseName("b1_h4_kv2_s64_bs16_hd64_bf16_decode");
  spec.page_size = 1 << 30;
  EXPECT_NO_THROW(CheckCase(spec));
  spec.q_heads = spec.kv_heads = spec.head_dim = 65536;
  EXPECT_THROW(CheckCase(spec), Error) << "its bytes don't fit 64 bits";
}

}  // namespace
}  // namespace pagoda::judge
