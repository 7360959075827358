// Variants of shared libraries that are no part of the program.
#include "app/subjects/plugin.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/subjects/attention_subject.h"
#include "app/subjects/outside.h"
#include "base/io/json.h"
#include "base/sys/process.h"
#include "judge/bench/case_name.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

using testing::HasSubstr;

sys::ProcessResult Pagoda(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), PAGODA_TEST_PROGRAM);
  return sys::RunProcess({.argv = std::move(arguments), .timeout_s = 300});
}

std::string RelativeToHere(const std::filesystem::path& path) {
  return "./" + std::filesystem::relative(path).string();
}

std::string RefusalOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
    return e.what();
  }
  return "no refusal";
}

TEST(ParseOutside, KnowsPathsFromNames) {
  EXPECT_FALSE(ParseOutside("gather").has_value());
  EXPECT_FALSE(ParseOutside("").has_value());
  EXPECT_EQ(ParseOutside("mine.so")->library, "mine.so");
  EXPECT_EQ(ParseOutside("./a.b/mine.so:fast")->library, "./a.b/mine.so");
  EXPECT_EQ(ParseOutside("./a.b/mine.so:fast")->name, "fast");
  EXPECT_EQ(ParseOutside("/x/libmine.so.1")->library, "/x/libmine.so.1");
  EXPECT_EQ(ParseOutside("a.so:b.so:c")->library, "a.so:b.so");
}

// The case grammar's corners, so that every field of the C structs is read by a right implementation.
TEST(ExamplePlugin, PassesTheGateWhateverTheShape) {
  AttentionSubject subject;
  for (const char* name :
       {"b2_h4_kv2_s130-7_bs16_hd64_bf16_decode", "b1_h6_kv2_s60_bs7_hd40_f32_q9_hnd_wl11_sinks",
        "b2_h2_kv1_s40-64_bs32_hd80_bf16_q40-1_combined_padded_noncausal_alibi",
        "b3_h4_kv4_s20-1-33_bs5_hd24_f32_q3-1-5_dv40_noncausal_wr2_cap20"}) {
    for (const uint64_t seed : {2026, 2029}) {
      const judge::GateResult result = subject.Gate(judge::ParseCaseName(name), PAGODA_TEST_EXAMPLE, seed, 2);
      EXPECT_TRUE(result.passed) << name << ": " << result.fault;
      EXPECT_TRUE(result.bitwise_repeatable);
      EXPECT_EQ(result.variant, PAGODA_TEST_EXAMPLE);
    }
  }
}

TEST(ExamplePlugin, SaysWhatItDoesNotCompute) {
  const AttentionSubject subject;
  const auto why_not = [&](const char* dtype) {
    const std::string name = fmt::format("b1_h4_kv2_s40_bs16_hd64_{}_decode", dtype);
    return subject.WhyNot(judge::ParseCaseName(name), PAGODA_TEST_EXAMPLE);
  };
  EXPECT_EQ(why_not("bf16"), std::nullopt);
  EXPECT_EQ(why_not("f16"), "f16 is not done yet, only f32 and bf16");
}

TEST(ExamplePlugin, IsTimedAgainstBuiltInVariantsInBothLinks) {
  setenv("PAGODA_KERNELS", std::filesystem::path(PAGODA_TEST_KERNELS).parent_path().c_str(), 1);
  AttentionSubject subject;
  const judge::CaseSpec spec = judge::ParseCaseName("b2_h4_kv2_s130_bs16_hd64_bf16_decode_warm");
  const auto arms = subject.Prepare(
      spec, {.arms = {{PAGODA_TEST_EXAMPLE, 0}, {"gather", 0}, {PAGODA_TEST_EXAMPLE, 1}, {"gather", 1}},
             .seed = 3,
             .threads = 2,
             .cold = false});
  for (const auto& arm : arms) {
    const judge::EpochTime time = arm->Run(3);
    EXPECT_GT(time.device_ns, 0);
    EXPECT_GE(time.host_ns, time.device_ns);
    EXPECT_TRUE(arm->CheckTimedOutput().passed);
  }
}

TEST(InLibrary, NamesTheSameVariantInAnotherFile) {
  EXPECT_EQ(InLibrary("old.so", "gather"), "./old.so:gather");
  EXPECT_EQ(InLibrary("../old/libpagoda_kernels.so", "gather"), "../old/libpagoda_kernels.so:gather");
  EXPECT_EQ(InLibrary("old.so", "./new.so:fast"), "./old.so:fast");
  EXPECT_EQ(InLibrary("/x/old.so", "./new.so"), "/x/old.so");
}

TEST(BaselineLib, IsTheBaselineOfTheOneVariantThatIsNamed) {
  const auto dry_run = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"bench", "smoke", "--dry-run", "--baseline-lib", PAGODA_TEST_KERNELS});
    return Pagoda(std::move(arguments));
  };
  const sys::ProcessResult right = dry_run({"--variants", "gather", "--json"});
  EXPECT_EQ(right.exit_code, 0) << right.err;
  const nlohmann::json report = io::ParseJson(right.out, "dry run");
  const std::string old = std::string(PAGODA_TEST_KERNELS) + ":gather";
  EXPECT_EQ(report.at("baseline"), old);
  EXPECT_EQ(report.at("variants"), nlohmann::json({old, "gather"}));
  EXPECT_EQ(report.at("delta"), 0.02);
  const sys::ProcessResult strict = dry_run({"--variants", "gather", "--json", "--delta", "1%"});
  EXPECT_EQ(io::ParseJson(strict.out, "dry run").at("delta"), 0.01);
  for (const auto& [arguments, says] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{}, "--baseline-lib judges one variant of two builds: name it by --variants NAME"},
           {{"--variants", "gather,spmd_paged_attention"}, "--baseline-lib judges one variant"},
           {{"--variants", "all"}, "--baseline-lib judges one variant"},
           {{"--variants", "gather", "--baseline", "gather"}, "leave --baseline away"},
           {{"--variants", PAGODA_TEST_EXAMPLE ":plain"}, ":plain does not exist: the library has gather"}}) {
    const sys::ProcessResult r = dry_run(arguments);
    EXPECT_EQ(r.exit_code, 2);
    EXPECT_THAT(r.err, HasSubstr(says));
  }
}

// scripts/judge-change and its workflow tell by this code that a change can't be judged in pairs.
TEST(BaselineLib, OfAnotherInterfaceIsCode5) {
  const sys::ProcessResult r = Pagoda(
      {"bench", "smoke", "--dry-run", "--variants", "gather", "--baseline-lib", PAGODA_TEST_OTHER_INTERFACE});
  EXPECT_EQ(r.exit_code, 5);
  EXPECT_THAT(r.err, HasSubstr("is a build whose interface (version"));
}

TEST(SecondLink, OfABuildOfPagodaIsItsRelinkedSiblingAndElseACopy) {
  EXPECT_FALSE(SecondLinkOf(PAGODA_TEST_KERNELS).copied);
  EXPECT_EQ(SecondLinkOf(PAGODA_TEST_KERNELS).path.filename(), "libpagoda_kernels_relink.so");
  EXPECT_TRUE(SecondLinkOf(PAGODA_TEST_EXAMPLE).copied);
}

TEST(LoadOutside, TakesAnotherBuildOfPagodasKernels) {
  const auto kernels = LoadOutside(PAGODA_TEST_KERNELS, 0);
  EXPECT_EQ(kernels->Variant("gather").name, "gather");
}

TEST(LoadOutside, RefusesWhatIsNoPlugin) {
  const std::string file = testing::TempDir() + "no_library.so";
  std::ofstream(file) << "not an object";
  EXPECT_THAT(RefusalOf([] { LoadOutside("./nowhere.so", 0); }), HasSubstr("./nowhere.so does not exist"));
  EXPECT_THAT(RefusalOf([] { LoadOutside(PAGODA_TEST_FOREIGN, 0); }),
              HasSubstr("was built for version 2 of pagoda/plugin.h, this program has 1"));
  EXPECT_THROW(LoadOutside(file, 0), Error);
}

TEST(AdaptPlugin, RefusesWhatContradictsTheHeader) {
  const auto run = [](const void*, const pagoda_softmax_batch*, const pagoda_softmax_call*) -> const char* {
    return nullptr;
  };
  pagoda_softmax_variant variants[2] = {{"a", nullptr, 0, nullptr, nullptr, run, nullptr},
                                        {"b", nullptr, 0, nullptr, nullptr, run, nullptr}};
  pagoda_plugin_info info = {PAGODA_PLUGIN_ABI, 2, variants};
  const auto refusal = [&] { return RefusalOf([&] { AdaptPlugin(&info, "x.so"); }); };
  EXPECT_EQ(refusal(), "no refusal");
  EXPECT_THAT(RefusalOf([] { AdaptPlugin(nullptr, "x.so"); }),
              HasSubstr("x.so has a pagoda_plugin() that gives null"));
  info.softmax_variants = 0;
  EXPECT_THAT(refusal(), HasSubstr("softmax_variants = 0"));
  info.softmax_variants = 2000000000;
  EXPECT_THAT(refusal(), HasSubstr("softmax_variants = 2000000000"));
  info = {PAGODA_PLUGIN_ABI, 2, nullptr};
  EXPECT_THAT(refusal(), HasSubstr("softmax_variants"));
  info.softmax = variants;
  variants[1].name = "a";
  EXPECT_THAT(refusal(), HasSubstr("names softmax[1] \"a\", as another"));
  variants[1].name = "b c";
  EXPECT_THAT(refusal(), HasSubstr("softmax[1].name"));
  variants[1].name = nullptr;
  EXPECT_THAT(refusal(), HasSubstr("softmax[1].name"));
  variants[1].name = "b";
  variants[1].promises = 8;
  EXPECT_THAT(refusal(), HasSubstr("softmax[1].promises"));
  variants[1].promises = 0;
  variants[1].run = nullptr;
  EXPECT_THAT(refusal(), HasSubstr("no softmax[1].run"));
}

TEST(GateCommand, TakesPluginsAndSaysWhatIsWrongWithTheirNames) {
  const std::string suite = testing::TempDir() + "plugin_suite.toml";
  std::ofstream(suite) << "name = \"s\"\n[[case]]\nheads = \"4/2\"\nhead_dim = 64\ncontexts = [70, 33]\n";
  const auto gate = [&](const std::string& variants) {
    return Pagoda({"gate", suite, "--json", "--variants", variants});
  };
  const sys::ProcessResult right = gate(std::string("gather,") + PAGODA_TEST_EXAMPLE);
  EXPECT_EQ(right.exit_code, 0) << right.err;
  EXPECT_EQ(io::ParseJson(right.out, "gate").at("passed"), 6);
  EXPECT_EQ(gate(PAGODA_TEST_PLAIN_C).exit_code, 5) << "supports nothing";

  const std::string broken = PAGODA_TEST_BROKEN;
  const std::string no_library = testing::TempDir() + "short.so";
  std::ofstream(no_library) << "";
  for (const auto& [variants, says] : std::vector<std::pair<std::string, std::string>>{
           {"./nowhere.so", "pagoda: error: ./nowhere.so does not exist; check the path"},
           {broken, broken + " has stale, "},
           {broken + ":rihgt", "did you mean \"right\"?"},
           {broken + ":", "error: " + broken + ": names no variant after the colon"},
           {RelativeToHere(PAGODA_TEST_FOREIGN),
            "error: " + RelativeToHere(PAGODA_TEST_FOREIGN) + " was built for version 2 of pagoda/plugin.h"},
           {no_library, "error: " + no_library + " can't be loaded: file too short"}}) {
    const sys::ProcessResult r = gate("gather," + variants);
    EXPECT_EQ(r.exit_code, 2) << variants;
    EXPECT_THAT(r.err, HasSubstr(says));
    EXPECT_EQ(r.out, "");
  }
}

}  // namespace
}  // namespace pagoda::app
