#include "app/commands/selftest_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/commands/command.h"

namespace pagoda::app {
namespace {

const PlantedArm kSame{"same_pointer", 0, 0, "the same"};
const PlantedArm kSlower{"slower_2%", 0, 0.02, "slower"};

judge::Outcome Of(judge::Verdict verdict, double theta) {
  judge::Outcome outcome;
  outcome.verdict = verdict;
  outcome.theta = {theta, theta - 0.003, theta + 0.003};
  return outcome;
}

// Twenty runs, of which so many call the same code a WIN.
SelftestResult ResultWith(int wrong) {
  SelftestResult result;
  result.variant = "v";
  result.runs = 20;
  result.gates = {.wrong = 30, .caught = 30, .right = 5, .passed = 5, .mistakes = {}};
  SelftestRow same("c", kSame), slower("c", kSlower);
  for (int run = 0; run < result.runs; ++run) {
    const bool lies = run < wrong;
    for (size_t i = 0; i < kSelftestDeltas.size(); ++i) {
      // Only the smallest delta is ever wrong.
      const bool lies_here = lies && i == 0;
      same.device[i].Add(
          Of(lies_here ? judge::Verdict::kWin : judge::Verdict::kTie, lies_here ? -0.02 : 0.001));
      same.host[i].Add(Of(judge::Verdict::kTie, 0));
      slower.device[i].Add(Of(judge::Verdict::kLoss, std::log(1.02)));
      slower.host[i].Add(Of(judge::Verdict::kInconclusive, std::log(1.01)));
    }
  }
  result.rows = {same, slower};
  return result;
}

TEST(SelftestReport, MoreWrongVerdictsThanChanceExplainsFail) {
  EXPECT_EQ(SelftestExitCode(ResultWith(0)), kDone);
  EXPECT_EQ(SelftestExitCode(ResultWith(1)), kDone);  // 5% [0.1, 25]: 2% is inside
  EXPECT_EQ(SelftestExitCode(ResultWith(3)), kConditionFailed);
}

TEST(SelftestReport, AMistakeOfTheGateComesFirst) {
  SelftestResult result = ResultWith(3);
  result.gates.mistakes.emplace_back("c wrong_zeros: passed the gate");
  EXPECT_EQ(SelftestExitCode(result), kGateFailed);
  EXPECT_NE(SelftestText(result, false, false).find("  c wrong_zeros: passed the gate\n"), std::string::npos);
}

TEST(SelftestReport, EachRowHasItsRateWithTheInterval) {
  const std::string text = SelftestText(ResultWith(1), true, false);
  EXPECT_NE(text.find("| `same_pointer` | device | 1 | 0 | 19 | 0 | 5.0% [0.1, 24.9] | 95.0% [75.1, 99.9] |"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| `slower_2%` | device | 0 | 20 | 0 | 0 | 0.0% [0.0, 16.8] | 100.0% [83.2, 100.0] | "
                      "0.980× |"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| wrong at delta 1% | wrong at delta 2% | wrong at delta 3% |"), std::string::npos)
      << text;
  EXPECT_NE(
      text.find("| `c` | `same_pointer` | device | 5.0% [0.1, 24.9] | 0.0% [0.0, 16.8] | 0.0% [0.0, 16.8] |"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("30 of 30 wrong variants caught (100.0% [88.4, 100.0]), 5 of 5 right ones passed"),
            std::string::npos)
      << text;
}

TEST(SelftestReport, JsonHoldsTheSame) {
  const auto parsed = nlohmann::json::parse(SelftestJson(ResultWith(1)));
  EXPECT_EQ(parsed["schema"], 1);
  EXPECT_EQ(parsed["arms"][0]["device"][0]["counts"]["WIN"], 1);
  EXPECT_EQ(parsed["arms"][1]["host"][2]["counts"]["INCONCLUSIVE"], 20);
  EXPECT_EQ(parsed["arms"][1]["slower"], 0.02);
  EXPECT_EQ(parsed["arms"][0]["device"][1]["delta"], 0.02);
  EXPECT_EQ(parsed["gate"]["caught"], 30);
}

}  // namespace
}  // namespace pagoda::app
