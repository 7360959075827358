#include "judge/report/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "judge/report/run_kinds.h"
#include "judge/report/sample_run.h"

namespace pagoda::judge {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// The runs, compared, in every format.
class Compared {
 public:
  explicit Compared(std::vector<SampleRun> runs) : runs_(std::move(runs)) {
    std::vector<ComparedRun> compared;
    for (size_t i = 0; i < runs_.size(); ++i) {
      runs_[i].manifest.time += std::to_string(i);
      const std::string name = "runs/" + std::to_string(i);
      compared.push_back({name, runs_[i].manifest, runs_[i].records});
      named_.push_back({name, runs_[i].AsReplay()});
    }
    comparisons_ = CompareRuns(compared);
  }
  std::string Terminal() const { return ComparisonTerminal({named_, comparisons_}, false); }
  std::string Markdown() const { return ComparisonMarkdown({named_, comparisons_}); }
  json Json() const { return json::parse(ComparisonJson({named_, comparisons_})); }

 private:
  std::vector<SampleRun> runs_;
  std::vector<NamedReplay> named_;
  std::vector<Comparison> comparisons_;
};

TEST(ComparisonReport, SaysWhatFellBehindAndWhatStayed) {
  const std::string text = Compared({ClearWin(), Mixed()}).Terminal();
  EXPECT_THAT(text, HasSubstr("\n\nruns/1 (after) against runs/0 (before)\n\n"));
  EXPECT_THAT(text, HasSubstr("  fast against slow: fell behind on " + kCases[1] + " and gained on"));
  EXPECT_THAT(text, HasSubstr("\n  fast       2    0     1  0  MIXED"));
  EXPECT_THAT(text, HasSubstr("\nSpeed-ups over slow\n"));
  EXPECT_THAT(text, HasSubstr("LOSS\n"));
}

TEST(ComparisonReport, OfRunsThatSayTheSameIsAllTies) {
  const Compared compared({ClearWin(), ClearWin()});
  EXPECT_THAT(compared.Terminal(), HasSubstr("  fast against slow: stayed the same on " + kCases[0]));
  EXPECT_THAT(compared.Terminal(), HasSubstr("  the runs agree on every case\n"));
  const json change = compared.Json()["comparisons"][0]["changes"][0];
  EXPECT_EQ(change["verdict"], "TIE");
  EXPECT_EQ(change["counts"]["tie"], 3);
  EXPECT_EQ(change["before"]["verdict"], "WIN");
  EXPECT_NEAR(change["before"]["speedup"]["value"], 1.25, 0.01);
}

TEST(ComparisonReport, NamesWhereAnotherVariantIsFastest) {
  const Compared compared({ClearWin(), Mixed()});
  EXPECT_THAT(compared.Terminal(), HasSubstr("\n  " + kCases[1] + "  fast            slow\n"));
  const json winners = compared.Json()["comparisons"][0]["winners"];
  EXPECT_EQ(winners[0]["agree"], true);
  EXPECT_EQ(winners[1]["agree"], false);
  EXPECT_EQ(winners[1]["after"], json({"slow"}));
}

TEST(ComparisonReport, StatesRawTimesWithoutAVerdict) {
  const Compared compared({ClearWin(), Mixed()});
  const json times = compared.Json()["comparisons"][0]["times"];
  ASSERT_EQ(times.size(), 6u);
  EXPECT_EQ(times[1]["variant"], "fast");
  EXPECT_NEAR(times[1]["before"]["device_us"], 8, 0.1);
  EXPECT_NEAR(times[1]["after"]["device_us"], 7, 0.1);
  EXPECT_THAT(compared.Terminal(), HasSubstr("not paired, so they get no verdict"));
}

TEST(ComparisonReport, StatesWhatDiffersAndOnlyThat) {
  SampleRun other = ClearWin();
  other.manifest.environment.cpu = "Another CPU";
  other.manifest.threads = 2;
  other.manifest.environment.isa = "scalar";
  other.manifest.settings = {{"epoch_ms", "5"}};
  SampleRun first = ClearWin();
  first.manifest.settings = {{"epoch_ms", "2"}};
  const Compared compared({first, other});
  EXPECT_THAT(compared.Terminal(), HasSubstr("\n  instruction set: avx2 → scalar\n"));
  EXPECT_THAT(compared.Terminal(), HasSubstr("\n  epoch_ms: 2 → 5\n"));
  EXPECT_THAT(compared.Terminal(), HasSubstr("\n  CPU: Example CPU → Another CPU\n"));
  EXPECT_THAT(compared.Terminal(), Not(HasSubstr("threads:")));
  EXPECT_EQ(compared.Json()["comparisons"][0]["differing"][1]["after"], "Another CPU");
}

TEST(ComparisonReport, ComparesEachLaterRunWithTheFirst) {
  const json report = Compared({ClearWin(), Mixed(), ClearWin()}).Json();
  EXPECT_EQ(report["runs"].size(), 3u);
  ASSERT_EQ(report["comparisons"].size(), 2u);
  EXPECT_EQ(report["comparisons"][1]["before"], "runs/0");
  EXPECT_EQ(report["comparisons"][1]["after"], "runs/2");
  EXPECT_EQ(report["comparisons"][0]["changes"][0]["counts"]["loss"], 1);
  EXPECT_EQ(report["comparisons"][1]["changes"][0]["counts"]["tie"], 3);
}

TEST(ComparisonReport, NamesWhatIsUndecidedOrWrongAndWhatIsNotCompared) {
  SampleRun interrupted = ClearWin();
  std::erase_if(interrupted.records.launches,
                [](const LaunchRecord& launch) { return launch.case_name == kCases[2]; });
  EXPECT_THAT(Compared({ClearWin(), interrupted}).Markdown(),
              HasSubstr("- ? fast on b4_h16_kv8_s4096_bs64_hd128_bf16_decode: there is no usable launch. "
                        "Finish the run with --resume.\n"));
  const std::string wrong = Compared({ClearWin(), GateFailed()}).Terminal();
  EXPECT_THAT(wrong, HasSubstr("  INV fast on " + kCases[0]));
  const std::string alone = Compared({OneVariant(), OneVariant()}).Terminal();
  EXPECT_THAT(alone, HasSubstr("Raw device times\n"));
  EXPECT_THAT(alone, Not(HasSubstr("Speed-ups over")));
}

TEST(ComparisonReport, MarkdownHasTheTablesAndLetsNoNameThrough) {
  SampleRun odd = ClearWin();
  odd.manifest.environment.cpu = "a|b <script>\x1b[31m";
  const Compared compared({ClearWin(), odd});
  EXPECT_THAT(compared.Markdown(), HasSubstr("| variant | WIN | TIE | LOSS | ? |"));
  EXPECT_THAT(compared.Markdown(), Not(HasSubstr("<script>")));
  EXPECT_THAT(compared.Terminal(), Not(HasSubstr("\x1b")));
}

void CollectKeys(const json& value, std::set<std::string>& keys) {
  for (const auto& [key, below] : value.items()) {
    if (value.is_object()) keys.insert(key);
    if (below.is_structured()) CollectKeys(below, keys);
  }
}

TEST(ComparisonReport, EveryFieldOfTheJsonIsInTheDocumentation) {
  std::ifstream file(PAGODA_TEST_DOCS "/report-json.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  std::set<std::string> keys;
  for (const auto& make : {Mixed, Interrupted, GateFailed}) {
    CollectKeys(Compared({ClearWin(), make()}).Json(), keys);
  }
  EXPECT_GT(keys.size(), 50u);
  for (const std::string& key : keys) EXPECT_THAT(page, HasSubstr("`" + key + "`"));
}

}  // namespace
}  // namespace pagoda::judge
