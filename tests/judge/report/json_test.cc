#include "judge/report/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "judge/report/run_kinds.h"
#include "judge/report/sample_run.h"

namespace pagoda::judge {
namespace {

using nlohmann::json;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

json Parsed(const SampleRun& run) { return json::parse(JsonReport(run.AsReplay(), {}, -1)); }

json Ratio(double value, double low, double high) { return {{"value", value}, {"low", low}, {"high", high}}; }

void CollectKeys(const json& value, std::set<std::string>& keys) {
  if (!value.is_structured()) return;
  for (const auto& item : value.items()) {
    if (value.is_object()) keys.insert(item.key());
    CollectKeys(item.value(), keys);
  }
}

TEST(JsonReport, HasNoFieldThatItsPageDoesNotName) {
  std::ifstream file(PAGODA_TEST_DOCS "/report-json.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  ASSERT_FALSE(page.empty());
  std::set<std::string> keys;
  for (const SampleRun& run : {HandMadeRun(), Interrupted(), GateFailed(), OneVariant(), Crossing()}) {
    CollectKeys(Parsed(run), keys);
  }
  EXPECT_GT(keys.size(), 80u);
  for (const std::string& key : keys) EXPECT_THAT(page, testing::HasSubstr("`" + key + "`"));
}

TEST(JsonReport, HasTheTopVerdict) {
  const json report = Parsed(HandMadeRun());
  EXPECT_EQ(report["schema"], 1);
  EXPECT_EQ(report["suite"], "sample-suite");
  EXPECT_EQ(report["seed"], 2026);
  EXPECT_EQ(report["verdict"], "INCONCLUSIVE");
  EXPECT_EQ(report["reason"], "underpowered");
  EXPECT_EQ(report["winners"], json({"fast", "slow"}));
  EXPECT_EQ(report["baseline"], "slow");
  EXPECT_EQ(report["lead"], Ratio(1.043, 1.043 - 0.011, 1.043 + 0.011));
  EXPECT_EQ(report["null"], Ratio(1.0, 0.998, 1.002));
  EXPECT_EQ(report["mde"], 0.013);
  const auto six_of_six = [](const char* variant) {
    return json{
        {"variant", variant}, {"passed", 6}, {"total", 6}, {"same_bits_as", nullptr}, {"same_bits", nullptr}};
  };
  EXPECT_EQ(report["gate"], json({{"passed", 12},
                                  {"missing", 0},
                                  {"total", 12},
                                  {"bitwise", true},
                                  {"variants", {six_of_six("slow"), six_of_six("fast")}}}));
  EXPECT_EQ(report["medians"]["cases"], 3);
  EXPECT_EQ(
      report["medians"]["variants"][1],
      json({{"variant", "fast"}, {"geomean_us", 68.399}, {"ratio", 1.0435}, {"least", 0.9}, {"most", 1.25}}));
  EXPECT_EQ(report["not_measured"], json({"other machines", "prefill"}));
  EXPECT_EQ(report["recommendation"]["no_evidence"], json({"b4_s512_bf16_decode"}));
  EXPECT_EQ(report["environment"]["cpu"], "Example CPU");
  EXPECT_EQ(report["environment"]["isa"], "avx2");
  EXPECT_EQ(report["environment"]["ceilings"]["bandwidth"][0]["gb_per_s"], 20);
  EXPECT_EQ(report["environment"]["worst_during_launches"]["load"], 0.25);
  EXPECT_EQ(report["launches"]["planned"], 36);
}

TEST(JsonReport, SaysWhoseBitsAVariantHas) {
  SampleRun run = HandMadeRun();
  for (GateRecord& gate : run.records.gates) {
    if (gate.variant == "fast") gate.same_bits_as = "slow";
  }
  const json fast = Parsed(run)["gate"]["variants"][1];
  EXPECT_EQ(fast["same_bits_as"], "slow");
  EXPECT_EQ(fast["same_bits"], 6);
}

TEST(JsonReport, HasEachContrastAndItsCases) {
  const json report = Parsed(HandMadeRun());
  ASSERT_EQ(report["contrasts"].size(), 1u);
  const json& contrast = report["contrasts"][0];
  EXPECT_EQ(contrast["variant"], "fast");
  EXPECT_EQ(contrast["verdict"], "INCONCLUSIVE");
  EXPECT_EQ(contrast["counts"]["loss"], 1);
  EXPECT_EQ(contrast["geomean"], Ratio(1.043, 1.043 - 0.011, 1.043 + 0.011));
  EXPECT_EQ(contrast["mde"], 0.013);
  EXPECT_EQ(contrast["null"], Ratio(1.0, 0.998, 1.002));
  ASSERT_EQ(contrast["cases"].size(), 3u);
  const json& win = contrast["cases"][0];
  EXPECT_EQ(win["case"], "b1_s128_bf16_decode");
  EXPECT_EQ(win["verdict"], "WIN");
  EXPECT_TRUE(win["reason"].is_null());
  EXPECT_EQ(win["speedup"], Ratio(1.25, 1.25 - 0.02, 1.25 + 0.02));
  EXPECT_EQ(win["baseline_us"], 10);
  EXPECT_EQ(win["variant_us"], 8);
  EXPECT_EQ(win["device_us"], 8);
  EXPECT_EQ(win["host_us"], 10);
  EXPECT_EQ(win["gbps"], 15);
  EXPECT_EQ(win["roofline_fraction"], 7.5 / 8);
  EXPECT_EQ(win["max_abs_error"], 3.14e-5);
  EXPECT_EQ(win["bitwise"], true);
  EXPECT_EQ(win["host"]["verdict"], "TIE");
  EXPECT_EQ(win["host_differs"], true);
  const json& unsure = contrast["cases"][2];
  EXPECT_EQ(unsure["reason"], "underpowered");
  EXPECT_EQ(unsure["next"], "Run again with --launches 40.");
  EXPECT_EQ(unsure["launches"]["needed"], 40);
}

TEST(JsonReport, HasEachSweepWithItsCrossovers) {
  SampleRun run = Crossing();
  Crossover& x = run.verdict.sweeps[0].duels[0].crossovers.at(0);
  const double place = x.at.value;
  x.at.low = 0;
  x.at.high = kInf;
  const json sweeps = Parsed(run)["sweeps"];
  ASSERT_EQ(sweeps.size(), 2u);
  EXPECT_EQ(sweeps[0]["axis"], "context");
  EXPECT_EQ(sweeps[0]["points"][1], json({{"case", kCases[1]}, {"value", 4096}, {"winners", {"fast"}}}));
  const json& duel = sweeps[0]["duels"][0];
  EXPECT_EQ(duel["a"], "slow");
  EXPECT_EQ(duel["b"], "fast");
  EXPECT_EQ(duel["course"], "crosses");
  EXPECT_TRUE(duel["ahead"].is_null());
  ASSERT_EQ(duel["crossovers"].size(), 1u);
  EXPECT_EQ(duel["crossovers"][0]["below"], "slow");
  EXPECT_EQ(duel["crossovers"][0]["above"], "fast");
  EXPECT_EQ(duel["crossovers"][0]["at"], json({{"value", place}, {"low", nullptr}, {"high", nullptr}}));
  EXPECT_EQ(duel["crossovers"][0]["launches"], json({{"used", 12}, {"left_out", 0}}));
  EXPECT_EQ(sweeps[1]["duels"][0]["course"], "ahead");
  EXPECT_EQ(sweeps[1]["duels"][0]["ahead"], "fast");
}

TEST(JsonReport, WhatIsNotKnownIsNull) {
  SampleRun run = HandMadeRun();
  run.verdict.contrasts[0].cases[2].device.speedup = {1.0, 0, kInf};
  run.verdict.figures[1].device_us = kNaN;
  run.verdict.figures[1].roofline_fraction = 0;
  run.verdict.mde = kInf;
  run.verdict.top.reset();
  const json report = Parsed(run);
  const json& cases = report["contrasts"][0]["cases"];
  EXPECT_EQ(cases[2]["speedup"]["low"], 0);
  EXPECT_TRUE(cases[2]["speedup"]["high"].is_null());
  EXPECT_TRUE(cases[0]["variant_us"].is_null());
  EXPECT_TRUE(cases[0]["roofline_fraction"].is_null());
  EXPECT_TRUE(report["mde"].is_null());
  EXPECT_TRUE(report["lead"].is_null());
}

TEST(JsonReport, TheSameReplayIsTheSameText) {
  EXPECT_EQ(JsonReport(HandMadeRun().AsReplay(), {}, 2), JsonReport(HandMadeRun().AsReplay(), {}, 2));
}

TEST(JsonReport, OneLineOnDemandAndNumbersUnrounded) {
  SampleRun run = HandMadeRun();
  run.verdict.lead.value = 1.0432198765432101;
  const std::string line = JsonReport(run.AsReplay(), {.records = "runs/x/records.jsonl", .reports = {}}, -1);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const json report = json::parse(line);
  EXPECT_EQ(report["lead"]["value"], 1.0432198765432101);
  EXPECT_EQ(report["records"], "runs/x/records.jsonl");
}

TEST(JsonReport, BrokenTextIsReplacedNotRefused) {
  SampleRun run = HandMadeRun();
  run.manifest.suite =
      "a\xff"
      "b";
  EXPECT_EQ(Parsed(run)["suite"],
            "a\xef\xbf\xbd"
            "b");
}

TEST(JsonReport, WarningsHaveStableNames) {
  SampleRun run = HandMadeRun();
  run.records.torn_lines = 1;
  EXPECT_EQ(Parsed(run)["warnings"][0]["kind"], "torn_record");
}

}  // namespace
}  // namespace pagoda::judge
