#include "judge/bench/suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "judge/bench/case_name.h"
#include "judge/bench/lengths.h"
#include "judge/bench/suite_toml.h"
#include "judge/bench/sweeps.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

std::vector<std::string> NamesOf(const Suite& suite) {
  std::vector<std::string> names;
  for (const CaseSpec& c : suite.cases) names.push_back(c.name);
  return names;
}

std::string RefusalOf(std::string_view text) {
  try {
    ParseSuite(text, "x.toml");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
    return e.what();
  }
  return "accepted";
}

// A good suite with one line put into its case.
std::string WithLine(const std::string& line) {
  return "name = \"s\"\n[[case]]\nheads = \"4/2\"\ncontext = 64\n" + line + "\n";
}

TEST(BuiltinSuites, ComeInTheirOrder) {
  EXPECT_THAT(SuiteNames(), ElementsAre("seed-paged-attention", "llm", "serving", "production", "page-sizes",
                                        "crossover", "hstu-paged", "hstu-serving", "smoke"));
  for (const std::string& name : SuiteNames()) EXPECT_EQ(LoadSuite(name).name, name);
}

TEST(BuiltinSuites, SeedHoldsTheTenCasesOfTheDocument) {
  const Suite suite = LoadSuite("seed-paged-attention");
  EXPECT_THAT(NamesOf(suite), ElementsAre("b1_h16_kv1_s128_bs128_hd128_bf16_decode",   //
                                          "b1_h16_kv1_s512_bs128_hd128_bf16_decode",   //
                                          "b1_h32_kv8_s128_bs128_hd128_f16_decode",    //
                                          "b4_h32_kv8_s512_bs128_hd128_f16_decode",    //
                                          "b1_h32_kv8_s4096_bs128_hd128_f16_decode",   //
                                          "b1_h32_kv8_s6144_bs128_hd128_f16_decode",   //
                                          "b1_h32_kv8_s8192_bs128_hd128_f16_decode",   //
                                          "b1_h32_kv8_s16384_bs128_hd128_f16_decode",  //
                                          "b2_h32_kv8_s4096_bs128_hd128_f16_decode",   //
                                          "b2_h32_kv8_s8192_bs128_hd128_f16_decode"));
  EXPECT_EQ(suite.baseline, "paged_attention_unroll");
  EXPECT_THAT(suite.variants,
              testing::UnorderedElementsAre("gather", "spmd_paged_attention", "spmd_paged_attention_highperf",
                                            "paged_attention_unroll", "paged_attention_unroll_4dims"));
}

TEST(BuiltinSuites, LlmHoldsEveryCombinationOfTheIssue) {
  const Suite suite = LoadSuite("llm");
  std::vector<std::string> wanted;
  for (const char* batch : {"b1", "b8"}) {
    for (const char* heads : {"h16_kv8", "h32_kv8", "h32_kv4", "h16_kv1"}) {
      for (const char* context : {"512", "4096", "16384"}) {
        wanted.push_back(std::string(batch) + "_" + heads + "_s" + context + "_bs64_hd128_bf16_decode");
      }
    }
  }
  for (const char* heads : {"h16_kv8", "h32_kv8", "h32_kv4", "h16_kv1"}) {
    for (const char* context : {"512", "4096"}) {
      wanted.push_back(std::string("b1_") + heads + "_s" + context + "_bs64_hd128_bf16_q512");
    }
  }
  EXPECT_EQ(NamesOf(suite), wanted);
  EXPECT_EQ(suite.variants.front(), "gather");
}

TEST(BuiltinSuites, ServingNamesItsTracesAndFitsIntoMemory) {
  const Suite suite = LoadSuite("serving");
  EXPECT_THAT(NamesOf(suite), ElementsAre("b32_h16_kv8_azure_conversation_bs64_hd128_bf16_decode",       //
                                          "b32_h16_kv8_azure_conversation_bs64_hd128_bf16_decode-q512",  //
                                          "b32_h16_kv8_azure_coding_bs64_hd128_bf16_decode",             //
                                          "b16_h16_kv8_mooncake_conversation_bs64_hd128_bf16_decode"));
  for (const CaseSpec& c : suite.cases) {
    int64_t bytes = 0;
    for (const int64_t keys : c.contexts) bytes += keys * c.kv_heads * (c.head_dim + c.head_dim_v) * 2;
    EXPECT_LT(bytes, int64_t{2'000'000'000}) << c.name;
  }
  const CaseSpec& mixed = suite.cases[1];
  EXPECT_EQ(std::count(mixed.queries.begin(), mixed.queries.end(), 512), 1);
  EXPECT_EQ(std::count(mixed.queries.begin(), mixed.queries.end(), 1), 31);
}

TEST(BuiltinSuites, ProductionHoldsItsThreeCases) {
  const Suite suite = LoadSuite("production");
  EXPECT_THAT(NamesOf(suite), ElementsAre("b256_h16_kv1_s8192_bs128_hd128_bf16_decode",  //
                                          "b64_h64_kv1_s8192_bs64_hd128_bf16_decode",    //
                                          "b64_h64_kv1_s8192_bs64_hd256_bf16_decode"));
  for (const CaseSpec& c : suite.cases) EXPECT_EQ(c.least_batch, 16);
}

TEST(BuiltinSuites, CrossoverSweepsContextAndBatchWithinItsMemory) {
  const Suite suite = LoadSuite("crossover");
  std::map<std::string, int> of_axis;
  int64_t longest = 0, largest = 0;
  for (const Sweep& sweep : SweepsOf(suite.cases)) ++of_axis[sweep.axis];
  for (const CaseSpec& c : suite.cases) {
    longest = std::max(longest, c.contexts.front());
    largest = std::max(largest, std::ssize(c.contexts));
    EXPECT_LE(std::ssize(c.contexts) * c.contexts.front(), 65536) << c.name;
    EXPECT_GE(c.contexts.front(), 64);
  }
  EXPECT_EQ(longest, 65536);
  EXPECT_EQ(largest, 32);
  EXPECT_EQ(of_axis["context"], 4) << "one for each batch";
  EXPECT_EQ(of_axis["batch"], 5) << "one for each context that two batches have";
}

TEST(BuiltinSuites, EveryCaseNameReadsBack) {
  for (const std::string& name : SuiteNames()) {
    for (const CaseSpec& c : LoadSuite(name).cases) {
      const std::string by_grammar = CaseName(c);
      EXPECT_EQ(CaseName(ParseCaseName(by_grammar)), by_grammar);
      EXPECT_TRUE(c.name == by_grammar || name == "serving") << c.name;
    }
  }
}

TEST(LoadSuite, AnUnknownNameGetsDidYouMean) {
  try {
    LoadSuite("smok");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(),
                AllOf(HasSubstr("\"smok\""), HasSubstr("did you mean \"smoke\"?"), HasSubstr(".toml")));
  }
}

TEST(LoadSuite, ReadsAFileByPathAndNamesItInErrors) {
  const std::string path = testing::TempDir() + "bench_suite_test.toml";
  std::ofstream(path) << WithLine("contxt = 1");
  try {
    LoadSuite(path);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), StartsWith(path + ":5:10: case[0].contxt is no known key"));
    EXPECT_THAT(e.what(), HasSubstr("did you mean \"context\"?"));
  }
  std::ofstream(path) << WithLine("");
  EXPECT_THAT(LoadSuite(path).cases, SizeIs(1));
  std::ofstream(path) << std::string((16 << 20) + 1, '#');
  EXPECT_THROW(LoadSuite(path), Error);
  std::remove(path.c_str());
  EXPECT_THROW(LoadSuite(path), Error);
  EXPECT_THROW(LoadSuite(testing::TempDir()), Error);
}

TEST(ParseSuite, ABudgetIsADuration) {
  EXPECT_EQ(ParseSuite(WithLine(""), "s.toml").budget_s, 0);
  EXPECT_EQ(ParseSuite("budget = \"1m30s\"\n" + WithLine(""), "s.toml").budget_s, 90);
  for (const char* wrong : {"\"soon\"", "\"\"", "90"}) {
    try {
      ParseSuite(fmt::format("budget = {}\n", wrong) + WithLine(""), "s.toml");
      FAIL() << wrong;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), StartsWith("s.toml:1:10: budget ")) << wrong;
    }
  }
}

TEST(ParseSuite, LeastWarmUpsAndSamplesAreCounts) {
  EXPECT_EQ(ParseSuite(WithLine(""), "s.toml").warmups, 0);
  EXPECT_EQ(ParseSuite(WithLine(""), "s.toml").samples, 0);
  const Suite suite = ParseSuite("warmups = 16\nsamples = 51\n" + WithLine(""), "s.toml");
  EXPECT_EQ(suite.warmups, 16);
  EXPECT_EQ(suite.samples, 51);
  for (const char* key : {"warmups", "samples"}) {
    for (const char* wrong : {"0", "-1", "100001", "1.5", "\"16\"", "[16]"}) {
      try {
        ParseSuite(fmt::format("{} = {}\n", key, wrong) + WithLine(""), "s.toml");
        FAIL() << key << wrong;
      } catch (const Error& e) {
        EXPECT_THAT(e.what(), AllOf(StartsWith("s.toml:1:"), HasSubstr(key))) << wrong;
      }
    }
  }
}

TEST(ParseSuite, ReadsEveryKeyOfACase) {
  const Suite suite = ParseSuite(R"(
name = "all"
about = "everything"
variants = ["a", "b"]
baseline = "b"
[[case]]
name = "mine"
op = "softmax_paged_attention"
contexts = [100, 200]
queries = [3, 1]
heads = "12/4"
head_dim = 80
head_dim_v = 40
page_size = 7
dtype = "f32"
layout = "HND"
combined = false
table = "padded"
index = "i64"
causal = false
window_left = 5
window_right = 6
softcap = 30
alibi = true
sinks = true
cache = "warm"
weight = 2.5
atol = 1e-6
rtol = 1e-7
)",
                                 "x.toml");
  EXPECT_EQ(suite.about, "everything");
  EXPECT_EQ(suite.baseline, "b");
  ASSERT_THAT(suite.cases, SizeIs(1));
  const CaseSpec& c = suite.cases[0];
  EXPECT_EQ(c.name, "mine");
  EXPECT_EQ(
      CaseName(c),
      "b2_h12_kv4_s100-200_bs7_hd80_f32_q3-1_dv40_hnd_padded_i64_noncausal_wl5_wr6_cap30_alibi_sinks_warm");
  EXPECT_EQ(c.weight, 2.5);
  EXPECT_EQ(c.atol, 1e-6);
  EXPECT_EQ(c.rtol, 1e-7);
}

TEST(ParseSuite, DefaultsApplyWhereACaseSaysNothing) {
  const Suite suite = ParseSuite(R"(
name = "s"
[defaults]
heads = "4/2"
head_dim = 64
phase = "q2"
[[case]]
context = 10
[[case]]
context = 10
phase = "decode"
head_dim = 32
[[case]]
context = 11
batch = 3
)",
                                 "x.toml");
  EXPECT_THAT(NamesOf(suite),
              ElementsAre("b1_h4_kv2_s10_bs16_hd64_bf16_q2", "b1_h4_kv2_s10_bs16_hd32_bf16_decode",
                          "b3_h4_kv2_s11_bs16_hd64_bf16_q2"));
}

TEST(ParseSuite, AListIsAnAxisAndEveryCombinationACase) {
  const Suite suite = ParseSuite(R"(
name = "s"
[[case]]
context = [10, 20]
dtype = ["bf16", "f32"]
heads = ["4/2", "2/2"]
head_dim = 8
)",
                                 "x.toml");
  EXPECT_THAT(NamesOf(suite),
              ElementsAre("b1_h4_kv2_s10_bs16_hd8_bf16_decode", "b1_h4_kv2_s10_bs16_hd8_f32_decode",
                          "b1_h4_kv2_s20_bs16_hd8_bf16_decode", "b1_h4_kv2_s20_bs16_hd8_f32_decode",
                          "b1_h2_kv2_s10_bs16_hd8_bf16_decode", "b1_h2_kv2_s10_bs16_hd8_f32_decode",
                          "b1_h2_kv2_s20_bs16_hd8_bf16_decode", "b1_h2_kv2_s20_bs16_hd8_f32_decode"));
}

TEST(ParseSuite, ListsOfLengthsStandBeforeADefaultLength) {
  const Suite suite = ParseSuite(R"(
name = "s"
[defaults]
heads = "1/1"
context = 9
queries = [1, 2]
[[case]]
contexts = [3, 4]
[[case]]
phase = ["decode", "q2"]
batch = 2
)",
                                 "x.toml");
  EXPECT_THAT(NamesOf(suite), ElementsAre("b2_h1_kv1_s3-4_bs16_hd128_bf16_q1-2",  //
                                          "b2_h1_kv1_s9_bs16_hd128_bf16_decode",  //
                                          "b2_h1_kv1_s9_bs16_hd128_bf16_q2"));
}

const std::string kDrawn = R"(name = "s"
[[case]]
heads = "4/2"
batch = [2, 3]
phase = ["decode", "decode+q8"]
[case.lengths]
name = "web"
quantiles = [0, 0.5, 1]
tokens = [4, 5, 100]
)";

TEST(ParseSuite, DrawnLengthsDifferAndTheNameSaysWhereFrom) {
  const Suite suite = ParseSuite(kDrawn, "x.toml");
  EXPECT_THAT(NamesOf(suite), ElementsAre("b2_h4_kv2_web_bs16_hd128_bf16_decode",     //
                                          "b2_h4_kv2_web_bs16_hd128_bf16_decode-q8",  //
                                          "b3_h4_kv2_web_bs16_hd128_bf16_decode",     //
                                          "b3_h4_kv2_web_bs16_hd128_bf16_decode-q8"));
  for (const CaseSpec& c : suite.cases) {
    EXPECT_EQ(c.contexts, DrawLengths({{0, 0.5, 1}, {4, 5, 100}}, std::ssize(c.contexts), 2026));
  }
  EXPECT_NE(ParseSuite(kDrawn + "seed = 5\n", "x.toml").cases[0].contexts, suite.cases[0].contexts);
}

TEST(ParseSuite, TheChunkOfAMixedBatchGoesToTheLastSequenceThatHoldsIt) {
  const auto name = [](const std::string& lines) {
    return ParseSuite("name = \"s\"\n[[case]]\nheads = \"4/2\"\nphase = \"decode+q9\"\n" + lines, "x.toml")
        .cases[0]
        .name;
  };
  EXPECT_EQ(name("context = 64\nbatch = 3"), "b3_h4_kv2_s64_bs16_hd128_bf16_q1x2-9");
  EXPECT_EQ(name("contexts = [3, 9, 10, 8]"), "b4_h4_kv2_s3-9-10-8_bs16_hd128_bf16_q1x2-9-1");
  EXPECT_THAT(RefusalOf(WithLine("phase = \"decode+q65\"\nbatch = 2")),
              HasSubstr("case[0].queries[1] = 65 is outside 1..64"));
  // A drawn sequence that is shorter than the chunk is a whole prompt.
  const Suite drawn = ParseSuite(
      "name = \"s\"\n[[case]]\nheads = \"4/2\"\nbatch = 2\nphase = [\"q9\", \"decode+q9\"]\n"
      "lengths = {name = \"n\", quantiles = [0, 1], tokens = [4, 4]}",
      "x.toml");
  EXPECT_THAT(drawn.cases[0].queries, ElementsAre(4, 4));
  EXPECT_THAT(drawn.cases[1].queries, ElementsAre(1, 4));
}

TEST(ParseSuite, ATraceTakesThePlaceOfDrawnLengths) {
  const io::RequestTrace trace{"/t/azure.csv", {{40, 1, {}}, {41, 1, {}}, {42, 1, {}}}, false};
  const Suite suite =
      ParseSuite(kDrawn +
                     "[[case]]\nheads = \"4/2\"\nbatch = 3\n[case.lengths]\nname = \"other\"\n"
                     "quantiles = [0, 1]\ntokens = [1, 2]\n"
                     "[[case]]\nheads = \"4/2\"\ncontext = 7\n",
                 "x.toml", &trace);
  EXPECT_THAT(NamesOf(suite), ElementsAre("b2_h4_kv2_azure_bs16_hd128_bf16_decode",     //
                                          "b2_h4_kv2_azure_bs16_hd128_bf16_decode-q8",  //
                                          "b3_h4_kv2_azure_bs16_hd128_bf16_decode",     //
                                          "b3_h4_kv2_azure_bs16_hd128_bf16_decode-q8",  //
                                          "b1_h4_kv2_s7_bs16_hd128_bf16_decode"));
  EXPECT_THAT(suite.cases[2].contexts, ElementsAre(40, 41, 42));
  EXPECT_EQ(suite.about, "lengths taken from /t/azure.csv");
  try {
    ParseSuite(WithLine(""), "x.toml", &trace);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), StartsWith("--trace = /t/azure.csv is of no use to s: none of its cases"));
  }
}

TEST(ParseSuite, SequencesShareTheBlocksOfATrace) {
  const io::RequestTrace trace{"t.jsonl", {{600, 1, {0, 1}}, {30, 1, {0}}}, true};
  const auto with = [&](const std::string& lines) {
    return ParseSuite("name = \"s\"\n[[case]]\nheads = \"4/2\"\nbatch = 2\n" + lines +
                          "\n[case.lengths]\nname = \"n\"\nquantiles = [0, 1]\ntokens = [1, 2]\n",
                      "x.toml", &trace);
  };
  EXPECT_THAT(with("page_size = 64").cases[0].blocks, ElementsAre(ElementsAre(0, 1), ElementsAre(0)));
  try {
    with("page_size = 48");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "x.toml:5:13: case[0].page_size = 48 doesn't divide the 512 tokens of a block, whose pages "
                 "sequences share");
  }
}

TEST(ParseSuite, TheLeastBatchIsOfSequencesThatAreAlike) {
  EXPECT_EQ(ParseSuite(WithLine("batch = 8\nleast_batch = 8"), "x.toml").cases[0].least_batch, 8);
  EXPECT_EQ(ParseSuite(WithLine("batch = 8"), "x.toml").cases[0].least_batch, 0);
  EXPECT_THAT(RefusalOf(WithLine("least_batch = 0")),
              StartsWith("x.toml:5:15: case[0].least_batch = 0 is not a number from 1 on"));
  EXPECT_THAT(RefusalOf(WithLine("least_batch = 2")),
              HasSubstr("case[0].least_batch = 2 must be at most the batch, 1, of"));
  EXPECT_THAT(RefusalOf(WithLine("batch = 4\nleast_batch = 2\nphase = \"decode+q2\"")),
              HasSubstr("of sequences that are all alike"));
  EXPECT_THAT(RefusalOf(WithLine("queries = [1, 2]\nleast_batch = 1")),
              HasSubstr("case[0].least_batch needs sequences that are all alike"));
}

std::vector<std::string> SweepsIn(const std::string& lines) {
  std::vector<std::string> texts;
  for (const Sweep& sweep : SweepsOf(ParseSuite("name = \"s\"\n" + lines, "x.toml").cases)) {
    std::vector<int64_t> values;
    for (const SweepPoint& point : sweep.points) values.push_back(point.value);
    texts.push_back(fmt::format("{} {}: {}", sweep.axis, sweep.name, fmt::join(values, " ")));
  }
  return texts;
}

TEST(ParseSuite, ASweepIsWhatDiffersInItsAxisAlone) {
  EXPECT_THAT(
      SweepsIn("[[case]]\nheads = \"4/2\"\nbatch = [1, 2]\ncontext = [256, 64, 1024]\nsweep = \"context\""),
      ElementsAre("context b1_h4_kv2_s*_bs16_hd128_bf16_decode: 64 256 1024",
                  "context b2_h4_kv2_s*_bs16_hd128_bf16_decode: 64 256 1024"));
  EXPECT_THAT(SweepsIn("[[case]]\nheads = \"4/2\"\ncontext = 64\npage_size = [16, 32]\ncache = \"warm\"\n"
                       "sweep = \"page_size\""),
              ElementsAre("page_size b1_h4_kv2_s64_bs*_hd128_bf16_decode_warm: 16 32"));
  EXPECT_THAT(
      SweepsIn("[[case]]\nheads = \"4/2\"\ncontext = 64\nphase = [\"q8\", \"decode\"]\nsweep = \"queries\""),
      ElementsAre("queries b1_h4_kv2_s64_bs16_hd128_bf16_q*: 1 8"));
  EXPECT_THAT(SweepsIn("[[case]]\nheads = [\"16/16\", \"16/4\"]\ncontext = 64\nsweep = \"ratio\""),
              ElementsAre("ratio b1_h16_kv*_s64_bs16_hd128_bf16_decode: 1 4"));
  EXPECT_THAT(SweepsIn("[[case]]\nheads = [\"2/2\", \"8/2\"]\ncontext = 64\nsweep = \"ratio\""),
              ElementsAre("ratio b1_h*_kv2_s64_bs16_hd128_bf16_decode: 1 4"));
}

TEST(ParseSuite, SweepsReachOverSectionsAndACaseMayBeOnTwo) {
  EXPECT_THAT(
      SweepsIn("[defaults]\nheads = \"4/2\"\nsweep = [\"context\", \"batch\"]\n"
               "[[case]]\nbatch = 1\ncontext = [64, 128, 256]\n[[case]]\nbatch = 4\ncontext = [64, 128]"),
      ElementsAre("context b1_h4_kv2_s*_bs16_hd128_bf16_decode: 64 128 256",
                  "batch b*_h4_kv2_s64_bs16_hd128_bf16_decode: 1 4",
                  "batch b*_h4_kv2_s128_bs16_hd128_bf16_decode: 1 4",
                  "context b4_h4_kv2_s*_bs16_hd128_bf16_decode: 64 128"));
  EXPECT_THAT(
      SweepsIn("[defaults]\nheads = \"4/2\"\nsweep = \"context\"\n[[case]]\ncontext = [64, 128]\nsweep = []"),
      ElementsAre());
}

TEST(ParseSuite, WrongSweepsSayWhereAndWhy) {
  EXPECT_THAT(
      RefusalOf(WithLine("sweep = \"contxt\"")),
      AllOf(StartsWith("x.toml:5:9: case[0].sweep = \"contxt\" must be one of context, batch, page_size, "
                       "ratio, queries"),
            HasSubstr("did you mean \"context\"?")));
  EXPECT_THAT(
      RefusalOf(WithLine("sweep = \"context\"")),
      StartsWith("x.toml:5:9: case[0].sweep over context has one point only: give a list of at least two"));
  EXPECT_THAT(RefusalOf(WithLine("batch = [1, 2]\nsweep = [\"batch\", \"batch\"]")),
              HasSubstr("case[0].sweep names \"batch\" twice"));
  EXPECT_THAT(
      RefusalOf(WithLine("batch = [1, 2, 1]\nsweep = \"batch\"")),
      HasSubstr(
          "_s64_bs16_hd128_bf16_decode is there already; give each case once, and each value of a list"));
  EXPECT_THAT(RefusalOf(WithLine("batch = [2, 4]\nleast_batch = 1\nsweep = \"batch\"")),
              HasSubstr("case[0].sweep and least_batch exclude each other"));
  EXPECT_THAT(RefusalOf(WithLine("queries = [1, 2]\nsweep = \"batch\"")),
              HasSubstr("case[0].sweep needs sequences that are all alike"));
  EXPECT_THAT(RefusalOf(WithLine("batch = [2, 4]\nphase = \"decode+q2\"\nsweep = \"batch\"")),
              StartsWith("x.toml:6:9: case[0].phase gives the sequences of a batch unlike query rows"));
  EXPECT_THAT(
      RefusalOf("name = \"s\"\n[[case]]\ncontext = 64\nheads = [\"16/8\", \"32/4\"]\nsweep = \"ratio\""),
      StartsWith("x.toml:4:9: case[0].heads must keep the query heads or the kv heads the same"));
  EXPECT_THAT(
      RefusalOf(WithLine("batch = [1, 2]\nsweep = \"batch\"\n[[case]]\nheads = \"4/2\"\ncontext = 64\n"
                         "name = \"mine\"\nsweep = \"batch\"")),
      AllOf(StartsWith("x.toml:"),
            HasSubstr("case makes a sweep that has 1 twice on its axis batch, as b1_h4_kv2_s64")));
}

TEST(ParseSuite, WrongLengthsSayWhereAndWhy) {
  const auto with = [](const std::string& lines) {
    return RefusalOf("name = \"s\"\n[defaults]\nheads = \"4/2\"\n[[case]]\n" + lines);
  };
  const std::string drawn = "lengths = {name = \"n\", quantiles = [0, 1], tokens = [1, 2]}\n";
  EXPECT_EQ(with(drawn), "accepted");
  EXPECT_THAT(with("lengths = 3"), StartsWith("x.toml:5:11: case[0].lengths = 3 is not a table"));
  EXPECT_THAT(with(drawn + "context = 5"), HasSubstr("case[0].context and lengths exclude each other"));
  EXPECT_THAT(with(drawn + "queries = [1, 1]"), HasSubstr("case[0].queries can't go with drawn lengths"));
  EXPECT_THAT(with(drawn + "name = \"x\""), HasSubstr("case[0].name can't go with drawn lengths"));
  EXPECT_THAT(with("lengths = {name = \"n\", quantiles = [0, 1], tokens = [2, 1]}"),
              HasSubstr("case[0].lengths.tokens must not fall"));
  EXPECT_THAT(with("lengths = {name = \"n\", quantiles = [0, 2], tokens = [2, 1]}"),
              HasSubstr("case[0].lengths.quantiles must go from 0 to 1"));
  EXPECT_THAT(with("lengths = {name = \"n\", quantiles = [0, 1], tokens = [1, 1], seed = -1}"),
              HasSubstr("case[0].lengths.seed = -1 is negative"));
  EXPECT_THAT(with("lengths = {name = \"a b\", quantiles = [0, 1], tokens = [1, 1]}"),
              HasSubstr("case[0].lengths.name must be 1 to 100 characters"));
  EXPECT_THAT(with("lengths = {name = \"s9\", quantiles = [0, 1], tokens = [1, 1]}"),
              HasSubstr("is the name of another case; this is b1_h4_kv2_s1_"));
  EXPECT_THAT(with("lengths = {nam = \"n\"}"), HasSubstr("did you mean \"name\"?"));
}

TEST(ParseSuite, ErrorsNameFileLineColumnAndKey) {
  EXPECT_THAT(RefusalOf(WithLine("")), "accepted");
  EXPECT_THAT(RefusalOf(WithLine("dtype = \"fp16\"")),
              AllOf(StartsWith("x.toml:5:9: case[0].dtype = \"fp16\" must be one of bf16, f16, f32"),
                    HasSubstr("did you mean \"f16\"?")));
  EXPECT_THAT(RefusalOf(WithLine("page_size = \"16\"")),
              AllOf(StartsWith("x.toml:5:13: case[0].page_size = "), HasSubstr("is not an integer")));
  EXPECT_THAT(RefusalOf(WithLine("page_size = 16.0")),
              HasSubstr("case[0].page_size = 16.0 is not an integer"));
  EXPECT_THAT(RefusalOf(WithLine("causal = 1")), HasSubstr("case[0].causal = 1 is not true or false"));
  EXPECT_THAT(RefusalOf(WithLine("softcap = \"x\"")),
              AllOf(HasSubstr("case[0].softcap = "), HasSubstr("is not a number")));
  EXPECT_THAT(RefusalOf(WithLine("phase = \"prefill\"")), HasSubstr("\"decode\", a number of query rows"));
  EXPECT_THAT(RefusalOf(WithLine("phase = \"q5x\"")), HasSubstr("\"q5x\""));
  EXPECT_THAT(RefusalOf(WithLine("phase = \"q0\"")), HasSubstr("\"q0\""));
  EXPECT_THAT(RefusalOf(WithLine("phase = \"q65\"")),
              StartsWith("x.toml:2:1: case[0].queries[0] = 65 is outside 1..64"));
  EXPECT_THAT(RefusalOf(WithLine("batch = 0")), StartsWith("x.toml:5:9: case[0].batch = 0 is outside"));
  EXPECT_THAT(RefusalOf(WithLine("queries = [1, 2]\nbatch = 3")),
              HasSubstr("case[0].queries has 2 lengths for a batch of 3"));
  EXPECT_THAT(RefusalOf(WithLine("phase = []")), HasSubstr("case[0].phase is an empty list"));
  EXPECT_THAT(RefusalOf(WithLine("name = \"a/b\"")), HasSubstr("case[0].name must be"));
  EXPECT_THAT(RefusalOf(WithLine("name = \"b1_h4_kv2_s65_bs16_hd128_bf16_decode\"")),
              HasSubstr("this is b1_h4_kv2_s64"));
  EXPECT_THAT(RefusalOf(WithLine("queries = [1]\nphase = \"decode\"")),
              HasSubstr("case[0].queries and phase exclude each other"));
  EXPECT_THAT(RefusalOf(WithLine("contexts = []")), HasSubstr("case[0].contexts"));
  EXPECT_THAT(RefusalOf(WithLine("dtype = [\"f16\", \"f32\"]\nname = \"n\"")),
              HasSubstr("case[0].name can't name all 2 cases"));
  EXPECT_THAT(RefusalOf(WithLine("causal = [true]")),
              HasSubstr("case[0].causal = an array is not true or false"));
  EXPECT_THAT(RefusalOf(WithLine("weight = 0")), HasSubstr("case[0].weight = 0"));
  EXPECT_THAT(RefusalOf(WithLine("weight = nan")), HasSubstr("case[0].weight"));
  EXPECT_THAT(RefusalOf(WithLine("op = \"hstu_attention\"")), HasSubstr("case[0].op"));
  EXPECT_THAT(RefusalOf(WithLine("targets = 1")), HasSubstr("case[0].targets is of hstu_paged_attention"));
  EXPECT_THAT(RefusalOf(WithLine("op = \"hstu_paged_attention\"\nsinks = true")),
              HasSubstr("case[0].sinks is of softmax_paged_attention"));
  EXPECT_THAT(RefusalOf(WithLine("op = \"hstu_paged_attention\"\ntargets = 2")),
              HasSubstr("case[0].targets = 2 is outside 0..1"));
  EXPECT_THAT(RefusalOf(WithLine("window_left = -2")), HasSubstr("case[0].window_left = -2"));
  EXPECT_THAT(RefusalOf(WithLine("combined = true\nhead_dim_v = 4")), HasSubstr("case[0].head_dim_v = 4"));
}

TEST(ParseSuite, ReadsTheKeysOfHstu) {
  const Suite suite =
      ParseSuite(WithLine("op = \"hstu_paged_attention\"\nphase = \"q16\"\ntargets = [4, 16]\n"
                          "target_group = 2\ncontextual = 3\nrab = true"),
                 "x.toml");
  ASSERT_EQ(suite.cases.size(), 2);
  EXPECT_EQ(suite.cases[0].name, "hstu_b1_h4_kv2_s64_bs16_hd128_bf16_q16_t4_g2_c3_rab");
  EXPECT_EQ(suite.cases[1].targets, 16);
  const Suite within = ParseSuite(
      WithLine(
          "op = \"hstu_paged_attention\"\nphase = \"q16\"\nmax_attn_len = 20\nmin_full_attn_seq_len = 4"),
      "x.toml");
  EXPECT_EQ(within.cases[0].name, "hstu_b1_h4_kv2_s64_bs16_hd128_bf16_q16_al20_fa4");
}

TEST(ParseSuite, RefusesHostileText) {
  EXPECT_THAT(RefusalOf(""), HasSubstr("name is missing"));
  EXPECT_THAT(RefusalOf("name = "), StartsWith("x.toml:1:"));
  EXPECT_THAT(RefusalOf("name = \"s\"\nname = \"t\""), StartsWith("x.toml:"));
  EXPECT_THAT(RefusalOf(std::string("name = \"\0\"", 10)), StartsWith("x.toml:"));
  EXPECT_THAT(RefusalOf("name = \"\xff\""), StartsWith("x.toml:"));
  EXPECT_THAT(RefusalOf("x = " + std::string(100000, '[')), StartsWith("x.toml:"));
  EXPECT_THAT(RefusalOf("name = 3"), HasSubstr("name = 3 is not a string"));
  EXPECT_THAT(RefusalOf("name = \"../s\""), HasSubstr("name must be 1 to 100 characters"));
  EXPECT_THAT(RefusalOf("name = \"s\""), HasSubstr("case is missing"));
  EXPECT_THAT(RefusalOf("name = \"s\"\ncase = 1"), HasSubstr("case = 1 is not an array of tables"));
  EXPECT_THAT(RefusalOf("name = \"s\"\ncase = [1]"), HasSubstr("case[0] = 1 is not a table"));
  EXPECT_THAT(RefusalOf("name = \"s\"\ncase = []"), HasSubstr("case is missing"));
  EXPECT_THAT(RefusalOf("name = \"s\"\ndefaults = 1\n[[case]]"), HasSubstr("defaults = 1 is not a table"));
  EXPECT_THAT(RefusalOf("name = \"s\"\nvariants = [\"a\", \"a\"]"), HasSubstr("variants holds \"a\" twice"));
  EXPECT_THAT(RefusalOf("name = \"s\"\nvariants = [\"gather\"]\nbaseline = \"gathre\""),
              AllOf(StartsWith("x.toml:3:12: baseline"), HasSubstr("did you mean \"gather\"?")));
  EXPECT_THAT(RefusalOf("name = \"s\"\n[[case]]\nheads = \"4/2\""),
              StartsWith("x.toml:2:1: case[0].context is missing"));
  EXPECT_THAT(RefusalOf("name = \"s\"\n[[case]]\ncontext = 4"), HasSubstr("case[0].heads is missing"));
  for (const char* heads : {"4", "4/", "/2", "4/2/1", "a/b", "4 / 2", ""}) {
    EXPECT_THAT(RefusalOf("name = \"s\"\n[[case]]\ncontext = 4\nheads = \"" + std::string(heads) + "\""),
                HasSubstr("query heads / kv heads"))
        << heads;
  }
  EXPECT_THAT(RefusalOf("name = \"s\"\n[[case]]\ncontext = 4\nheads = \"5/2\""),
              HasSubstr("q_heads = 5 is not a multiple"));
  EXPECT_THAT(RefusalOf("name = \"s\"\n[[case]]\ncontext = 4\nheads = \"1/99999999999999999999\""),
              HasSubstr("heads"));
  EXPECT_THAT(RefusalOf(WithLine("[[case]]\nheads = \"4/2\"\ncontext = 64")), HasSubstr("is there already"));
  EXPECT_THAT(RefusalOf("name = \"s\"\n[defaults]\nname = \"n\"\n[[case]]\ncontext = 4"),
              HasSubstr("can't be a default"));
}

TEST(ParseSuite, RefusesAGridThatIsTooLarge) {
  std::string list = "[1";
  for (int i = 2; i <= 100; ++i) list += ", " + std::to_string(i);
  list += "]";
  EXPECT_THAT(
      RefusalOf("name = \"s\"\n[[case]]\nheads = \"1/1\"\ncontext = " + list + "\npage_size = " + list),
      HasSubstr("more than 4096 cases"));
}

}  // namespace
}  // namespace pagoda::judge
