// The built program from outside: exit codes, messages, and which stream they go to.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/io/json.h"
#include "base/io/safetensors.h"
#include "base/sys/machine_lock.h"
#include "base/sys/process.h"

namespace pagoda::app {
namespace {

sys::ProcessResult Pagoda(std::vector<std::string> arguments,
                          std::vector<std::pair<std::string, std::string>> environment = {}) {
  arguments.insert(arguments.begin(), PAGODA_TEST_PROGRAM);
  sys::ProcessSpec spec;
  spec.argv = std::move(arguments);
  spec.timeout_s = 120;
  spec.environment = std::move(environment);
  return sys::RunProcess(spec);
}

std::string Case(const std::string& name) {
  return std::string(PAGODA_TEST_CASES) + "/" + name + ".safetensors";
}

bool Holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct WrongUsage {
  std::vector<std::string> arguments;
  std::string says;
};

TEST(Cli, WrongUsageIsCode2WithTheMend) {
  const WrongUsage wrongs[] = {
      {{}, "A subcommand is required; see `pagoda --help`"},
      {{"atend"}, R"("atend" is not a command of `pagoda`; did you mean "attend"?)"},
      {{"attend"}, "CASE is required; see `pagoda attend --help`"},
      {{"attend", Case("dims_d1_f32"), "--chek"},
       R"(--chek is not an option of `pagoda attend`; did you mean "--check"?)"},
      {{"attend", Case("dims_d1_f32"), "--variant", "gathr"},
       R"("gathr" does not exist; did you mean "gather"?)"},
      {{"attend", Case("dims_d1_f32"), "--out-dtype", "f8"}, "--out-dtype: f8 not in {f32,f16,bf16}"},
      {{"attend", Case("dims_d1_f32"), Case("page3_d80_bf16_h5_1"), "--out", "x"},
       "--out takes one CASE, but 2 are given"},
      {{"attend", Case("dims_d1_f32"), "--variant", "gather,gather"}, "--variant names \"gather\" twice"},
      {{"attend", PAGODA_TEST_CASES}, "CASE is a directory; give the path of a safetensors file"},
      {{"list", "varaints"}, R"("varaints" is not a command of `pagoda list`; did you mean "variants"?)"},
      {{"list", "suites", "more"}, "`pagoda list suites` takes no argument \"more\""},
      {{"list", "suites", "--threads", "0"}, "--threads"},
      {{"list", "cases", "smke"}, "smoke"},
      {{"explain", "b1_h4_kv3_s64_bs16_hd64_f32_decode"}, "q_heads"},
      {{"explain", "smke"}, "smoke"},
      {{"gate", "smoke", "--only", "("}, "--only = \"(\" is not a regular expression"},
      {{"gate", "smoke", "--only", "nothing"}, "--only = \"nothing\" finds none of the 4 cases of smoke"},
      {{"gate", "smoke", "--variants", "gather,highperf"}, "--variants \"highperf\" is none of gather, "},
      {{"gate", Case("batch_of_none_no_pages")}, "q_indptr holds no query row"},
      {{"bench", "no-such.safetensors"}, "no-such.safetensors"},
      {{"selftest", "--variant", "gathr"}, R"("gathr" does not exist; did you mean "gather"?)"},
      {{"selftest", "--cases", "b1_h4"}, "b1_h4"},
      {{"selftest", "--runs", "0"}, "--runs"},
      {{"selftest", "--resume"}, "--resume needs --out DIR"},
      {{"selftest", "--seed", "-1"}, "--seed: -1 is not a whole number from 0 to 18446744073709551615"},
      {{"bench", "smoke", "--seed", "18446744073709551616"}, "--seed: 18446744073709551616 is not a whole"},
      {{"bench", "smoke", "--variants", "gather", "--baseline-lib", ""}, "--baseline-lib: must not be empty"},
      {{"bench", "smoke", "--out="}, "--out: 1 required DIR missing"},
      {{"bench", "smoke", "--out", ""}, "--out: must not be empty"},
      {{"bench", "smoke", "--delta", ""}, "--delta: must not be empty"},
      {{"bench", "smoke", "--program", ""}, "--program: must not be empty"},
      {{"bench", ""}, "SUITE: must not be empty"},
      {{"report", ""}, "DIR: must not be empty"},
      {{"gate", "smoke", "--variants", "gather,,"}, "--variants: has an empty item between its commas"},
      {{"gate", "smoke", "--variants", "gather,"}, "--variants: has an empty item between its commas"},
      {{"gate", "smoke", "--variants", ",gather"}, "--variants: has an empty item between its commas"},
      {{"attend", Case("dims_d1_f32"), "--variant", ","}, "--variant: has an empty item between its commas"},
      {{"bench", "smoke", "--fail-on", "loss,,"}, "--fail-on: has an empty item between its commas"},
      {{"selftest", "--cases", ""}, "--cases: must not be empty"},
      {{"gate", "--variants", "gather", "smke"}, R"("smke" is neither built in)"},
      {{"bench", "smoke", "--variants", "./mine.so", "--baseline-lib", "mine.so"},
       "--baseline-lib = mine.so is what --variants names; give another build of it"},
  };
  for (const WrongUsage& wrong : wrongs) {
    const sys::ProcessResult r = Pagoda(wrong.arguments);
    SCOPED_TRACE(r.err);
    EXPECT_EQ(r.exit_code, 2);
    EXPECT_TRUE(Holds(r.err, wrong.says)) << "does not say: " << wrong.says;
    EXPECT_TRUE(r.err.starts_with("pagoda: error: "));
    EXPECT_EQ(r.out, "");
  }
}

TEST(Cli, WhatIsNotUtf8IsRefusedByName) {
  for (const std::string command : {"gate", "bench", "attend", "explain"}) {
    const sys::ProcessResult r = Pagoda({command, "caf\xe9.safetensors"});
    EXPECT_EQ(r.exit_code, 2) << command;
    EXPECT_TRUE(Holds(r.err, "caf\xe9.safetensors: is not UTF-8")) << r.err;
  }
}

TEST(Cli, BrokenFilesAreCode2WithFileAndField) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "pagoda_broken";
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return (folder / name).string();
  };
  const std::string header = R"({"q":{"dtype":"F32","shape":[1],"data_offsets":[0,400]}})";
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size());
  const std::pair<std::string, std::string> files[] = {
      {(folder / "missing.safetensors").string(), "does not exist"},
      {write("empty.safetensors", ""), "empty.safetensors"},
      {write("text.safetensors", "this is no tensor file at all"), "text.safetensors"},
      {write("short.safetensors", length + header), "q"},
      {write("huge.safetensors", std::string(8, '\x7f') + "{}"), "huge.safetensors"},
      {Case("invalid/page_id_equals_P"), "kv_indices[1] = 7 is outside 0..6"},
      {Case("invalid/scale_nan"), "scale = \"nan\" is not finite"},
      {Case("invalid/heads_not_divisible"), "q.shape"},
  };
  for (const auto& [file, says] : files) {
    const sys::ProcessResult r = Pagoda({"attend", file, "--check"});
    SCOPED_TRACE(r.err);
    EXPECT_EQ(r.exit_code, 2);
    EXPECT_TRUE(Holds(r.err, says)) << "does not say: " << says;
    EXPECT_TRUE(Holds(r.err, std::filesystem::path(file).filename().string()));
    EXPECT_EQ(r.out, "");
  }
  std::filesystem::remove_all(folder);
}

TEST(Cli, TheWorstOfSeveralFilesWins) {
  const std::string good = Case("dims_d1_f32");
  const std::string hstu = Case("hstu_paged_page1");
  const std::string invalid = Case("invalid/scale_nan");
  EXPECT_EQ(Pagoda({"attend", "--check", good, good}).exit_code, 0);
  EXPECT_EQ(Pagoda({"attend", "--check", good, hstu}).exit_code, 0);
  // Each variant computes one of the operators.
  EXPECT_EQ(Pagoda({"attend", "--check", "--variant", "gather", good, hstu, good}).exit_code, 5);
  EXPECT_EQ(Pagoda({"attend", "--check", "--variant", "hstu_fused", hstu, invalid, good}).exit_code, 2);

  // Its output differs from the expectation once that is halved.
  const std::filesystem::path wrong =
      std::filesystem::path(::testing::TempDir()) / "pagoda_wrong.safetensors";
  const auto file = io::SafetensorsFile::Open(good);
  std::vector<io::SafetensorsTensor> tensors = file.tensors();
  std::vector<float> zeros;
  for (io::SafetensorsTensor& t : tensors) {
    if (t.name != "expected_o") continue;
    zeros.assign(t.elements(), 0);
    t.bytes = std::as_bytes(std::span(zeros));
  }
  io::WriteSafetensors(wrong, tensors, file.metadata());
  const sys::ProcessResult r = Pagoda({"attend", "--check", "--variant", "gather", wrong.string(), hstu});
  EXPECT_EQ(r.exit_code, 3);
  EXPECT_TRUE(Holds(r.out, "WRONG")) << r.out;
  EXPECT_EQ(Pagoda({"attend", "--check", wrong.string(), invalid}).exit_code, 2);
  EXPECT_EQ(Pagoda({"attend", wrong.string()}).exit_code, 0) << "nothing was asked to be checked";
  std::filesystem::remove(wrong);
}

TEST(Cli, AttendWritesWhatItComputed) {
  const std::string out = (std::filesystem::path(::testing::TempDir()) / "pagoda_out.safetensors").string();
  ASSERT_EQ(
      Pagoda({"attend", Case("dims_d1_f32"), "--variant", "gather", "--out", out, "--out-dtype", "bf16"})
          .exit_code,
      0);
  const auto file = io::SafetensorsFile::Open(out);
  ASSERT_NE(file.Find("o"), nullptr);
  EXPECT_EQ(file.Find("o")->type, io::SafetensorsType::kBF16);
  EXPECT_EQ(file.Find("o")->shape, (std::vector<int64_t>{6, 4, 1}));
  ASSERT_NE(file.Find("lse"), nullptr);
  EXPECT_EQ(file.Find("lse")->shape, (std::vector<int64_t>{6, 4}));
  EXPECT_EQ(file.metadata().at("variant"), "gather");
  std::filesystem::remove(out);
  EXPECT_EQ(Pagoda({"attend", Case("dims_d1_f32"), "--out", "/nowhere/o.safetensors"}).exit_code, 6);
}

TEST(Cli, AMadeGoldenPassesItsCheck) {
  const std::string made = (std::filesystem::path(::testing::TempDir()) / "pagoda_made.safetensors").string();
  ASSERT_EQ(Pagoda({"attend", Case("mod_softcap_alibi_window"), "--make-golden", made}).exit_code, 0);
  const sys::ProcessResult r = Pagoda({"attend", made, "--check"});
  EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
  std::filesystem::remove(made);
}

TEST(Cli, JsonHoldsOneVersionedObjectAndNoColour) {
  const sys::ProcessResult r =
      Pagoda({"attend", "--check", "--time", "--json", Case("dims_d1_f32"), Case("invalid/scale_nan")});
  EXPECT_EQ(r.exit_code, 2);
  const nlohmann::json report = io::ParseJson(r.out, "stdout");
  EXPECT_EQ(report.at("schema"), 1);
  ASSERT_EQ(report.at("files").size(), 2);
  const nlohmann::json& good = report.at("files")[0];
  EXPECT_EQ(good.at("exit_code"), 0);
  EXPECT_EQ(good.at("variants").size(), 6);
  for (const nlohmann::json& v : good.at("variants")) {
    EXPECT_EQ(v.at("verdict"), "ok");
    EXPECT_LT(v.at("max_abs_error"), 1e-5);
    EXPECT_GE(v.at("host_us"), v.at("device_us"));
  }
  const nlohmann::json& bad = report.at("files")[1];
  EXPECT_EQ(bad.at("exit_code"), 2);
  EXPECT_EQ(bad.at("error").at("field"), "scale");
  EXPECT_FALSE(Holds(r.out + r.err, "\x1b"));
}

TEST(Cli, ListsVariantsSuitesAndCases) {
  const nlohmann::json variants = io::ParseJson(Pagoda({"list", "variants", "--json"}).out, "variants");
  EXPECT_EQ(variants.at("variants").size(), 10);
  EXPECT_EQ(variants.at("variants")[0].at("name"), "gather");
  EXPECT_EQ(variants.at("variants")[0].at("operator"), "softmax_paged_attention");
  EXPECT_EQ(variants.at("variants")[8].at("name"), "hstu_fused");
  EXPECT_EQ(variants.at("variants")[8].at("operator"), "hstu_paged_attention");
  const nlohmann::json suites = io::ParseJson(Pagoda({"list", "suites", "--json"}).out, "suites");
  EXPECT_GE(suites.at("suites").size(), 3);
  const nlohmann::json cases =
      io::ParseJson(Pagoda({"list", "cases", "seed-paged-attention", "--json"}).out, "cases");
  EXPECT_EQ(cases.at("cases").size(), 10);
  EXPECT_GT(cases.at("cases")[0].at("bytes"), 0);
  EXPECT_TRUE(Holds(Pagoda({"list", "cases", "smoke"}).out, "b1_h4_kv2_s256_bs16_hd64_bf16_decode"));
  const nlohmann::json hstu = io::ParseJson(Pagoda({"list", "cases", "hstu-paged", "--json"}).out, "cases");
  EXPECT_EQ(hstu.at("cases").size(), 18);
  EXPECT_EQ(hstu.at("cases")[0].at("operator"), "hstu_paged_attention");
}

// What is there, and what a run would cost, is known without the shared objects.
TEST(Cli, QuestionsAboutItsOwnVariantsLoadNoKernels) {
  const std::vector<std::pair<std::string, std::string>> nowhere = {{"PAGODA_KERNELS", "/nowhere"}};
  for (const char* suite : {"smoke", "hstu-paged"}) {
    EXPECT_EQ(Pagoda({"list", "cases", suite}, nowhere).exit_code, 0) << suite;
    EXPECT_EQ(Pagoda({"bench", suite, "--dry-run"}, nowhere).exit_code, 0) << suite;
  }
}

TEST(Cli, ListsTheSweepsOfASuite) {
  const nlohmann::json listed = io::ParseJson(Pagoda({"list", "cases", "crossover", "--json"}).out, "cases");
  const nlohmann::json& first = listed.at("sweeps").at(0);
  EXPECT_EQ(first.at("sweep"), "b1_h16_kv8_s*_bs64_hd128_bf16_decode");
  EXPECT_EQ(first.at("axis"), "context");
  EXPECT_EQ(first.at("points").at(0).at("value"), 64);
  EXPECT_EQ(first.at("points").at(0).at("case"), listed.at("cases").at(0).at("name"));
  const std::string table = Pagoda({"list", "cases", "crossover"}).out;
  EXPECT_TRUE(Holds(table, "b*_h16_kv8_s64_bs64_hd128_bf16_decode     batch    1, 2, 8 and 32\n"));
  EXPECT_TRUE(io::ParseJson(Pagoda({"list", "cases", "smoke", "--json"}).out, "cases").at("sweeps").empty());
}

// Writes a suite with drawn lengths and a trace for it.
struct TraceFiles {
  std::string suite = ::testing::TempDir() + "/pagoda_drawn.toml";
  std::string trace = ::testing::TempDir() + "/pagoda_web.jsonl";
  TraceFiles() {
    std::ofstream(suite) << "name = \"drawn\"\n[[case]]\nheads = \"4/2\"\nhead_dim = 32\nbatch = 3\n"
                            "page_size = 64\n[case.lengths]\nname = \"few\"\nquantiles = [0, 1]\n"
                            "tokens = [40, 60]\n";
    std::ofstream(trace) << R"({"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]})"
                         << '\n'
                         << R"({"timestamp": 1, "input_length": 700, "output_length": 5, "hash_ids": [0, 2]})"
                         << '\n'
                         << R"({"timestamp": 2, "input_length": 90, "output_length": 5, "hash_ids": [0]})"
                         << '\n';
  }
};

TEST(Cli, ATraceGivesTheLengthsOfADrawnSuite) {
  const TraceFiles files;
  EXPECT_TRUE(Holds(Pagoda({"list", "cases", files.suite}).out, "b3_h4_kv2_few_bs64_hd32_bf16_decode"));
  const nlohmann::json listed =
      io::ParseJson(Pagoda({"list", "cases", files.suite, "--trace", files.trace, "--json"}).out, "cases");
  const nlohmann::json& one = listed.at("cases")[0];
  EXPECT_EQ(one.at("name"), "b3_h4_kv2_pagoda_web_bs64_hd32_bf16_decode");
  EXPECT_EQ(one.at("contexts"), (std::vector<int64_t>{600, 700, 90}));
  EXPECT_EQ(one.at("bytes"), (512 + 88 + 188) * 2 * 2 * 32 * 2) << "a shared page counts once";
  const sys::ProcessResult gate = Pagoda({"gate", files.suite, "--trace", files.trace, "--threads", "2"});
  EXPECT_EQ(gate.exit_code, 0) << gate.err;
  EXPECT_TRUE(Holds(gate.out, "Correct: 18/18")) << gate.out;
  EXPECT_TRUE(Holds(Pagoda({"bench", files.suite, "--trace", files.trace, "--dry-run"}).out, "pagoda_web"));
}

TEST(Cli, ABudgetCutsBatchesAndSaysSo) {
  const std::vector<std::string> bench = {"bench", "production", "--dry-run", "--budget", "2m"};
  const sys::ProcessResult r = Pagoda(bench);
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_TRUE(Holds(r.out, "\nb16_h16_kv1_s8192_bs128_hd128_bf16_decode ")) << r.out;
  EXPECT_TRUE(Holds(r.out,
                    "not run: b256_h16_kv1_s8192_bs128_hd128_bf16_decode at batch 256: cut to 16 to fit "
                    "the budget of 2 m 0 s\n"))
      << r.out;
  std::vector<std::string> as_json = bench;
  as_json.emplace_back("--json");
  const nlohmann::json plan = io::ParseJson(Pagoda(as_json).out, "dry run");
  EXPECT_EQ(plan.at("left_out").size(), 3);
  EXPECT_FALSE(plan.at("fits_budget"));
}

TEST(Cli, AWrongTraceIsBadInput) {
  const TraceFiles files;
  const std::string broken = ::testing::TempDir() + "/pagoda_broken.csv";
  std::ofstream(broken) << "TIMESTAMP,ContextTokens,GeneratedTokens\nt,-3,1\n";
  for (const auto& [suite, trace, says] : {
           std::array{files.suite, broken,
                      broken + ":2: ContextTokens = \"-3\" is not a whole number from 1 to 1048576"},
           std::array{std::string("smoke"), files.trace, std::string("is of no use to smoke")},
           std::array{Case("dims_d1_f32"), files.trace, std::string("can't go with a case file")},
           std::array{files.suite, std::string("none.csv"), std::string("--trace none.csv does not exist")},
           std::array{files.suite, std::string("/"), std::string("--trace / is a directory")},
           std::array{files.suite, std::string("/dev/zero"),
                      std::string("--trace /dev/zero is not a regular file")},
           std::array{std::string("none.toml"), files.trace, std::string("none.toml does not exist")},
           std::array{std::string("none/"), files.trace, std::string("none/ does not exist")},
           std::array{std::string("/dev/zero"), files.trace, std::string("/dev/zero is not a regular file")},
       }) {
    const sys::ProcessResult r = Pagoda({"gate", suite, "--trace", trace});
    EXPECT_EQ(r.exit_code, 2);
    EXPECT_TRUE(Holds(r.err, says)) << r.err;
  }
}

TEST(Cli, TheGateOfTheSmokeSuitePasses) {
  const sys::ProcessResult r = Pagoda({"gate", "smoke", "--json", "--threads", "2"});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  const nlohmann::json report = io::ParseJson(r.out, "gate");
  EXPECT_EQ(report.at("total"), 4 * 5 * 3);
  EXPECT_EQ(report.at("passed"), report.at("total"));
  EXPECT_TRUE(report.at("skipped").empty());
}

TEST(Cli, AWrongPagodaIsaIsBadInputOfEveryCommand) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"list", "variants"}, {"gate", "smoke"}, {"attend", Case("dims_d1_f32")}}) {
    const sys::ProcessResult r = Pagoda(command, {{"PAGODA_ISA", "nonsense"}});
    EXPECT_EQ(r.exit_code, 2) << command.front();
    EXPECT_TRUE(Holds(r.err, "PAGODA_ISA")) << r.err;
    EXPECT_EQ(r.out, "");
  }
}

TEST(Cli, OutputThatIsLostIsNotSuccess) {
  sys::ProcessSpec spec;
  spec.argv = {"/bin/sh", "-c", PAGODA_TEST_PROGRAM " list suites >/dev/full"};
  spec.timeout_s = 60;
  const sys::ProcessResult r = sys::RunProcess(spec);
  EXPECT_EQ(r.exit_code, 6);
  EXPECT_TRUE(Holds(r.err, "standard output can't be written")) << r.err;
  EXPECT_FALSE(Holds(r.err, "internal")) << r.err;
}

TEST(Cli, AnOutputThatCantBeWrittenIsSaidAsSuch) {
  for (const std::string option : {"--out", "--make-golden"}) {
    const sys::ProcessResult r = Pagoda({"attend", Case("dims_d1_f32"), option, "/nowhere/x.safetensors"});
    EXPECT_EQ(r.exit_code, 6);
    EXPECT_TRUE(Holds(r.err, "/nowhere/x.safetensors")) << r.err;
    EXPECT_EQ(r.out, "");
  }
}

TEST(Cli, RoundingThatWasAskedForIsNoFault) {
  for (const std::string dtype : {"f32", "f16", "bf16"}) {
    const sys::ProcessResult r =
        Pagoda({"attend", Case("mod_softcap_alibi_window"), "--check", "--out-dtype", dtype});
    EXPECT_EQ(r.exit_code, 0) << dtype << r.out;
  }
}

TEST(Cli, ASuiteThatNoBenchWouldTakeIsNotListed) {
  const std::string file = testing::TempDir() + "/suite_of_unknown_variants.toml";
  for (const std::string line :
       {"variants = []", "variants = [\"gathr\"]", "epoch_ms = 0", "epoch_ms = \"2\""}) {
    std::ofstream(file) << "name = \"s\"\n" << line << "\n[[case]]\nheads = \"4/2\"\ncontext = 64\n";
    const sys::ProcessResult r = Pagoda({"list", "cases", file});
    EXPECT_EQ(r.exit_code, 2) << line;
    EXPECT_TRUE(Holds(r.err, line.substr(0, line.find(' ')))) << r.err;
    EXPECT_EQ(r.out, "");
  }
}

TEST(Cli, AttendDoesNotReplaceItsOwnCase) {
  const std::string file = testing::TempDir() + "/own_case.safetensors";
  std::filesystem::copy_file(Case("dims_d1_f32"), file, std::filesystem::copy_options::overwrite_existing);
  const auto size = std::filesystem::file_size(file);
  for (const std::string option : {"--out", "--make-golden"}) {
    const sys::ProcessResult r = Pagoda({"attend", file, option, file});
    EXPECT_EQ(r.exit_code, 2) << option;
    EXPECT_TRUE(Holds(r.err, option + " is the CASE itself")) << r.err;
    EXPECT_EQ(std::filesystem::file_size(file), size);
  }
}

TEST(Cli, TheGateTakesTheProblemOfACaseFile) {
  const sys::ProcessResult r = Pagoda({"gate", Case("mod_softcap_alibi_window"), "--json"});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  const nlohmann::json report = io::ParseJson(r.out, "gate");
  EXPECT_EQ(report.at("total"), 1 * 6 * 3);
  EXPECT_EQ(report.at("passed"), report.at("total"));
}

TEST(Cli, TheGateTakesTheProblemOfAnHstuCaseFile) {
  for (const char* name :
       {"hstu_interval_paged", "hstu_dense_weights", "hstu_contiguous_explicit_k_offsets"}) {
    const sys::ProcessResult r = Pagoda({"gate", Case(name), "--json"});
    EXPECT_EQ(r.exit_code, 0) << r.err;
    const nlohmann::json report = io::ParseJson(r.out, "gate");
    EXPECT_EQ(report.at("total"), 1 * 4 * 3);
    EXPECT_EQ(report.at("passed"), report.at("total"));
    EXPECT_EQ(report.at("runs").at(0).at("case"), std::string(name) + ".safetensors");
    EXPECT_EQ(report.at("runs").at(1).at("same_bits_as"), "hstu_gather_serial");
  }
  const sys::ProcessResult none = Pagoda({"bench", Case("hstu_batch_of_none")});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_TRUE(Holds(none.err, "seq_offsets holds no query row, so there is nothing to time")) << none.err;
  const sys::ProcessResult other = Pagoda({"gate", Case("hstu_rab_BH"), "--variants", "gather"});
  EXPECT_EQ(other.exit_code, 5);
  EXPECT_TRUE(Holds(other.err, "gather: op = hstu_paged_attention is not what it computes")) << other.err;
}

TEST(Cli, ListsTheCaseOfACaseFile) {
  const sys::ProcessResult r = Pagoda({"list", "cases", Case("page3_d80_bf16_h5_1")});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_TRUE(Holds(r.out, "_bs3_hd80_bf16")) << r.out;
}

TEST(Cli, AWrongExpectationInACaseFileFailsTheGateAndKeepsItFromTheBench) {
  for (const auto& [name, variant] :
       {std::pair{"dims_d1_f32", "gather"}, {"hstu_paged_page1", "hstu_gather_serial"}}) {
    const io::SafetensorsFile good = io::SafetensorsFile::Open(Case(name));
    std::vector<io::SafetensorsTensor> tensors(good.tensors().begin(), good.tensors().end());
    std::vector<std::byte> ones;
    for (io::SafetensorsTensor& t : tensors) {
      if (t.name != "expected_o") continue;
      ones.assign(t.bytes.size(), std::byte{0x3f});
      t.bytes = ones;
    }
    const std::string wrong = testing::TempDir() + "/wrong_expectation.safetensors";
    io::WriteSafetensors(wrong, tensors, good.metadata());
    for (const std::string command : {"gate", "bench"}) {
      const sys::ProcessResult r = Pagoda({command, wrong});
      EXPECT_EQ(r.exit_code, 3) << command;
      EXPECT_TRUE(
          Holds(r.err, std::string("wrong_expectation: ") + variant + " against the file's expectation: "))
          << r.err;
    }
  }
}

TEST(Cli, TheGateNeedsTheKernelLibrary) {
  const sys::ProcessResult r = Pagoda({"gate", "smoke"}, {{"PAGODA_KERNELS", "/nowhere"}});
  EXPECT_EQ(r.exit_code, 6);
  EXPECT_TRUE(Holds(r.err, "libpagoda_kernels.so is not in /nowhere; set PAGODA_KERNELS")) << r.err;
}

TEST(Cli, ThreadsFarBeyondTheCpusAreRefused) {
  const sys::ProcessResult r = Pagoda({"machine", "--quick", "--threads", "4096"});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_TRUE(Holds(r.err, "--threads = 4096 is more than 8 for each CPU")) << r.err;
  EXPECT_TRUE(Holds(Pagoda({"gate", "smoke"}, {{"PAGODA_THREADS", "4096"}}).err, "PAGODA_THREADS = 4096"));
}

TEST(Cli, ACaseBeyondTheMemoryIsSaidBeforeItIsRun) {
  const std::string file = testing::TempDir() + "/suite_beyond_memory.toml";
  std::ofstream(file) << "name = \"s\"\n[[case]]\nheads = \"4/2\"\ncontext = 64\npage_size = 1000000000\n";
  for (const char* const command : {"gate", "bench"}) {
    const sys::ProcessResult r = Pagoda({command, file});
    EXPECT_EQ(r.exit_code, 5) << r.err;
    EXPECT_TRUE(
        Holds(r.err, "b1_h4_kv2_s64_bs1000000000_hd128_bf16_decode needs 2.79 TiB of memory at least, and "))
        << r.err;
    EXPECT_EQ(r.out, "");
  }
  const nlohmann::json plan = io::ParseJson(Pagoda({"bench", file, "--dry-run", "--json"}).out, "dry run");
  EXPECT_GT(plan.at("cases")[0].at("memory_bytes"), 3 * 1e9 * 2 * 2 * 128 * 2) << "all slots of three pages";

  std::ofstream(file) << "name = \"s\"\n[[case]]\nheads = \"4/2\"\ncontext = 1048577\nbatch = 65536\n";
  const sys::ProcessResult r = Pagoda({"list", "cases", file});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_TRUE(Holds(r.err, "case[0].context gives 68719542272 keys")) << r.err;
}

TEST(Cli, AnUnknownVariantInASuiteIsShownWithItsLine) {
  const std::string file = testing::TempDir() + "/suite_of_a_typing_error.toml";
  std::ofstream(file) << "name = \"s\"\nvariants = [\"gathr\"]\n[[case]]\nheads = \"4/2\"\ncontext = 64\n";
  EXPECT_TRUE(Holds(Pagoda({"gate", file}).err, file + ":2:12: variants \"gathr\" is none of "));
}

TEST(Cli, AWrongPagodaThreadsIsNamed) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"attend", Case("dims_d1_f32")}, {"list", "suites"}}) {
    const sys::ProcessResult r = Pagoda(command, {{"PAGODA_THREADS", "many"}});
    EXPECT_EQ(r.exit_code, 2);
    EXPECT_TRUE(r.err.starts_with("pagoda: error: PAGODA_THREADS = \"many\"")) << r.err;
  }
}

TEST(Cli, BashCompletesCommandsOptionsSuitesAndVariants) {
  const std::string folder = ::testing::TempDir() + "/pagoda_completion";
  std::filesystem::create_directories(folder + "/runs");
  for (const char* const file : {"/my suite.toml", "/mine.so"}) std::ofstream(folder + file) << '\n';
  const auto completed = [&](const std::string& words, int at) {
    sys::ProcessSpec spec;
    spec.argv = {"bash", "-c",
                 "eval \"$(" PAGODA_TEST_PROGRAM " completion bash)\"; cd '" + folder +
                     "'; COMP_WORDS=(pagoda " + words + "); COMP_CWORD=" + std::to_string(at) +
                     "; _pagoda; IFS=,; echo \"${COMPREPLY[*]}\""};
    spec.timeout_s = 60;
    return sys::RunProcess(spec).out;
  };
  EXPECT_EQ(completed("ben", 1), "bench\n");
  EXPECT_EQ(completed("bench smo", 2), "smoke\n");
  EXPECT_EQ(completed("bench smoke --dry", 3), "--dry-run\n");
  EXPECT_EQ(completed("bench smoke --json --dry", 4), "--dry-run\n") << "behind a flag";
  EXPECT_EQ(completed("list ca", 2), "cases\n");
  EXPECT_EQ(completed("list cases page", 3), "page-sizes\n");
  EXPECT_EQ(completed("bench smoke --variants gat", 4), "gather\n");
  EXPECT_EQ(completed("bench smoke --variants gather,paged_attention_unroll_", 4),
            "gather,paged_attention_unroll_4dims\n");
  EXPECT_EQ(completed("bench smoke --variants = gat", 5), "gather\n") << "--variants=gat";
  EXPECT_EQ(completed("bench smoke --lock =", 4), "wait,refuse\n") << "--lock=";
  EXPECT_EQ(completed("bench smoke --variants gather,./mi", 4), "gather,./mine.so\n");
  EXPECT_EQ(completed("bench smoke --lock re", 4), "refuse\n");
  EXPECT_EQ(completed("bench smoke --fail-on loss,inc", 4), "loss,inconclusive\n");
  EXPECT_EQ(completed("report --format ''", 3), "terminal,markdown,json,html\n");
  EXPECT_EQ(completed("selftest --format ''", 3), "terminal,markdown,json\n");
  EXPECT_EQ(completed("completion ''", 2), "bash,zsh,fish,--help,--quiet,--verbose,--threads\n");
  EXPECT_EQ(completed("bench my", 2), "my suite.toml\n") << "one file";
  EXPECT_EQ(completed("bench smoke --out ru", 4), "runs\n");
  EXPECT_EQ(completed("bench smoke --launches ''", 4), "\n") << "a number";
  EXPECT_EQ(completed("launch --a", 2), "\n") << "hidden";
  std::filesystem::remove_all(folder);
}

// Every command that --help shows; the empty one is the program itself.
const std::vector<std::vector<std::string>>& Commands() {
  static const std::vector<std::vector<std::string>> commands = {
      {},         {"machine"}, {"list"},  {"list", "variants"}, {"list", "suites"}, {"list", "cases"},
      {"attend"}, {"gate"},    {"bench"}, {"report"},           {"completion"},     {"selftest"}};
  return commands;
}

std::string HelpOf(std::vector<std::string> command) {
  command.emplace_back("--help");
  const sys::ProcessResult r = Pagoda(command);
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.err, "");
  return r.out;
}

// A file for the rates of the machine, so that a test neither meets nor leaves any, and a lock that nobody
// else holds.
std::vector<std::pair<std::string, std::string>> MachineIn(const std::string& file) {
  const std::filesystem::path folder = ::testing::TempDir();
  return {{"PAGODA_MACHINE", (folder / file).string()},
          {"PAGODA_LOCK", (folder / "pagoda_explain.lock").string()}};
}

TEST(Cli, ExplainMeasuresOnceAndNamesWhatAutoTakes) {
  const auto machine = MachineIn("pagoda_explain/machine.json");
  std::filesystem::remove(machine[0].second);
  const std::string name = "b2_h4_kv2_s512_bs16_hd64_bf16_decode";
  const sys::ProcessResult first = Pagoda({"explain", name, "--json"}, machine);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_TRUE(Holds(first.err, "measuring this machine's rates once")) << first.err;
  EXPECT_TRUE(std::filesystem::exists(machine[0].second));
  const sys::ProcessResult second = Pagoda({"explain", name, "--json"}, machine);
  EXPECT_EQ(second.err, "");
  EXPECT_EQ(second.out, first.out);
  const nlohmann::json report = io::ParseJson(second.out, "stdout");
  EXPECT_EQ(report["schema"], 1);
  const nlohmann::json& c = report["cases"].at(0);
  EXPECT_EQ(c["case"], name);
  EXPECT_EQ(c["taken"], c["variants"].at(0)["variant"]);
  EXPECT_EQ(c["variants"].size(), 5U);
  for (const nlohmann::json& v : c["variants"]) EXPECT_GE(v["total_ns"], c["variants"].at(0)["total_ns"]);
}

TEST(Cli, ExplainTakesNamesFilesAndSuitesOfBothOperators) {
  const auto machine = MachineIn("pagoda_explain/machine.json");
  for (const std::string& what : {std::string("hstu_b1_h2_kv2_s96_bs16_hd32_f32_q4"), Case("dims_d1_f32")}) {
    const sys::ProcessResult r = Pagoda({"explain", what}, machine);
    EXPECT_EQ(r.exit_code, 0) << r.err;
    EXPECT_TRUE(Holds(r.out, "auto takes ")) << r.out;
    EXPECT_TRUE(Holds(r.out, "arithmetic")) << r.out;
    EXPECT_TRUE(Holds(r.out, "Rates of this machine: ")) << r.out;
  }
  const sys::ProcessResult suite = Pagoda({"explain", "hstu-paged"}, machine);
  EXPECT_EQ(suite.exit_code, 0) << suite.err;
  EXPECT_EQ(std::count(suite.out.begin(), suite.out.end(), '\n'), 1 + 18) << suite.out;
}

TEST(Cli, ExplainSaysWhatIsWrongBeforeItMeasures) {
  const auto machine = MachineIn("pagoda_unmeasured/machine.json");
  for (const char* what : {"b1_h4_kv3_s64_bs16_hd64_f32_decode", "smke", "none.safetensors"}) {
    const sys::ProcessResult r = Pagoda({"explain", what}, machine);
    EXPECT_EQ(r.exit_code, 2) << what;
    EXPECT_TRUE(r.err.starts_with("pagoda: error: ")) << r.err;
    EXPECT_FALSE(std::filesystem::exists(machine[0].second)) << what;
  }
}

TEST(Cli, ExplainTakesASuiteWhoseNameBeginsAsACaseDoes) {
  const auto machine = MachineIn("pagoda_explain/machine.json");
  const std::filesystem::path suite = std::filesystem::path(::testing::TempDir()) / "b1_mine.toml";
  std::ofstream(suite) << "name = \"mine\"\n[[case]]\ncontext = 64\nheads = \"1/1\"\nhead_dim = 64\n";
  const sys::ProcessResult r = Pagoda({"explain", suite.string()}, machine);
  std::filesystem::remove(suite);
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_TRUE(Holds(r.out, "auto takes ")) << r.out;
  const sys::ProcessResult missing = Pagoda({"explain", "broad"}, machine);
  EXPECT_TRUE(Holds(missing.err, "\"broad\" is neither built in")) << missing.err;
}

TEST(Cli, RatesThatCantBeReadOrKeptAreNamed) {
  const auto broken = MachineIn("pagoda_broken_machine.json");
  std::ofstream(broken[0].second) << "{\"schema\": 1, \"cpu\": 3}";
  const std::string name = "b1_h1_kv1_s64_bs16_hd64_f32_decode";
  const sys::ProcessResult r = Pagoda({"explain", name}, broken);
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_TRUE(Holds(r.err, "pagoda_broken_machine.json: cpu")) << r.err;
  // Where nothing chooses, nobody asks.
  EXPECT_EQ(Pagoda({"attend", Case("dims_d1_f32"), "--variant", "gather"}, broken).exit_code, 0);
  auto full = broken;
  full[0].second = "/dev/full/machine.json";
  EXPECT_EQ(Pagoda({"explain", name}, full).exit_code, 6);
}

TEST(Cli, RatesAreMeasuredUnderTheLockOfTheMachine) {
  const auto machine = MachineIn("pagoda_locked_machine.json");
  std::filesystem::remove(machine[0].second);
  const std::vector<std::string> command = {"explain", "b1_h1_kv1_s64_bs16_hd64_f32_decode", "--lock",
                                            "refuse"};
  sys::MachineLock lock(machine[1].second);
  ASSERT_TRUE(lock.LockWithin(60, "bench of a test"));
  const sys::ProcessResult r = Pagoda(command, machine);
  EXPECT_EQ(r.exit_code, 5);
  EXPECT_TRUE(Holds(r.err, "(bench of a test) measures on this machine")) << r.err;
  EXPECT_FALSE(std::filesystem::exists(machine[0].second));
}

TEST(Cli, EveryCommandHasHelpWithTwoExamples) {
  for (const std::vector<std::string>& command : Commands()) {
    SCOPED_TRACE(command.empty() ? "pagoda" : command.back());
    const std::string help = HelpOf(command);
    const size_t examples = help.find("Examples:");
    ASSERT_NE(examples, std::string::npos) << help;
    const size_t first = help.find("  pagoda ", examples);
    ASSERT_NE(first, std::string::npos);
    EXPECT_NE(help.find("  pagoda ", first + 1), std::string::npos) << "one example only";
    EXPECT_TRUE(Holds(help, "--threads"));
  }
}

// Of each line of --help that begins with an option: the option as roff writes it.
std::vector<std::string> OptionsInRoff(const std::string& help) {
  std::vector<std::string> options;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    const size_t start = line.find("--");
    if (!line.starts_with("  -") || start == std::string::npos) continue;
    std::string name;
    for (const char c : line.substr(start, line.find_first_of(" :", start) - start)) {
      name += c == '-' ? "\\-" : std::string(1, c);
    }
    options.push_back(name);
  }
  return options;
}

TEST(ManualPage, HasEveryCommandAndOption) {
  const sys::ProcessResult page = Pagoda({"man"});
  EXPECT_EQ(page.exit_code, 0);
  size_t options = 0;
  for (const std::vector<std::string>& command : Commands()) {
    std::string name = "pagoda";
    for (const std::string& word : command) name += ' ' + word;
    const std::string help = HelpOf(command);
    // One that only groups others has no section of its own.
    EXPECT_NE(Holds(page.out, ".SS " + name + " [OPTIONS]"), Holds(help, "Subcommands:")) << name;
    for (const std::string& option : OptionsInRoff(help)) {
      EXPECT_TRUE(Holds(page.out, option)) << name << " " << option;
      ++options;
    }
  }
  EXPECT_GT(options, 60u);
  for (const char* part : {"EXIT STATUS", "PAGODA_THREADS", "PAGODA_ISA", "PAGODA_KERNELS", "PAGODA_LOCK",
                           "NO_COLOR", "records.jsonl", ".SH EXAMPLES", "130 interrupted"}) {
    EXPECT_TRUE(Holds(page.out, part)) << part;
  }
  EXPECT_FALSE(Holds(HelpOf({}), "  man ")) << "hidden";
}

TEST(ManualPage, IsRoffWithoutAWarning) {
  const std::string page = Pagoda({"man"}).out;
  // Other bytes would need a preprocessor that knows the encoding.
  EXPECT_EQ(std::count_if(page.begin(), page.end(), [](unsigned char c) { return c > 126; }), 0);
  const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "pagoda_man_test.1";
  std::ofstream(path) << page;
  sys::ProcessSpec spec;
  spec.argv = {"sh", "-c",
               "command -v groff > /dev/null || exit 77; exec groff -man -ww -z -Tascii " + path.string()};
  spec.timeout_s = 60;
  const sys::ProcessResult r = sys::RunProcess(spec);
  std::filesystem::remove(path);
  if (r.exit_code == 77) GTEST_SKIP() << "no groff here";
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.err, "");
}

TEST(Cli, TheVersionIsThatOfTheProject) {
  const sys::ProcessResult r = Pagoda({"--version"});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.out, "pagoda " PAGODA_TEST_VERSION "\n");
}

}  // namespace
}  // namespace pagoda::app
