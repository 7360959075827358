// Reports of whole runs: records, judged, then printed. What a sentence says is held against the verdict.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/listed.h"
#include "judge/record/jsonl.h"
#include "judge/report/answer.h"
#include "judge/report/facts.h"
#include "judge/report/json.h"
#include "judge/report/markdown.h"
#include "judge/report/run_kinds.h"
#include "judge/report/sample_run.h"
#include "judge/report/several.h"
#include "judge/report/tables.h"
#include "judge/report/terminal.h"
#include "judge/report/text.h"
#include "judge/report/warnings.h"

namespace pagoda::judge {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Reports : public testing::TestWithParam<RunKind> {};

std::string Terminal(const SampleRun& run) { return TerminalReport(run.AsReplay(), {}, {}); }

TEST_P(Reports, EveryCaseAndVariantIsThere) {
  const SampleRun run = GetParam().make();
  for (const std::string& text :
       {Terminal(run), MarkdownReport(run.AsReplay(), {}), JsonReport(run.AsReplay(), {}, 1),
        TerminalReport(run.AsReplay(), {}, {.full = false})}) {
    for (const std::string& name : kCases) EXPECT_THAT(text, HasSubstr(name));
    if (run.manifest.variants.size() == 1) continue;
    for (const std::string& variant : run.manifest.variants) EXPECT_THAT(text, HasSubstr(variant));
  }
}

TEST_P(Reports, FitAHundredColumns) {
  std::istringstream lines(Terminal(GetParam().make()));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 100u) << line;
}

TEST_P(Reports, JsonSaysWhatTheVerdictSays) {
  const SampleRun run = GetParam().make();
  const auto report = nlohmann::json::parse(JsonReport(run.AsReplay(), {}, -1));
  EXPECT_EQ(report["verdict"], NameOf(run.verdict.verdict));
  EXPECT_EQ(report["winners"], run.verdict.winners);
  EXPECT_EQ(report["gate"]["passed"], run.verdict.gates_passed);
  ASSERT_EQ(report["contrasts"].size(), run.verdict.contrasts.size());
  for (size_t i = 0; i < run.verdict.contrasts.size(); ++i) {
    const Contrast& contrast = run.verdict.contrasts[i];
    EXPECT_EQ(report["contrasts"][i]["verdict"], NameOf(contrast.overall.verdict));
    EXPECT_EQ(report["contrasts"][i]["counts"]["win"], contrast.counts.win);
    ASSERT_EQ(report["contrasts"][i]["cases"].size(), kCases.size());
    for (size_t c = 0; c < kCases.size(); ++c) {
      const auto& json = report["contrasts"][i]["cases"][c];
      EXPECT_EQ(json["case"], kCases[c]);
      EXPECT_EQ(json["verdict"], NameOf(contrast.cases[c].device.verdict));
      const double speedup = contrast.cases[c].device.speedup.value;
      EXPECT_EQ(json["speedup"]["value"], std::isfinite(speedup) ? nlohmann::json(speedup) : nullptr);
    }
  }
}

TEST_P(Reports, AreTheSameFromTheFiles) {
  const SampleRun run = GetParam().make();
  std::string lines;
  for (const GateRecord& gate : run.records.gates) lines += ToJsonLine(gate) + '\n';
  for (const LaunchRecord& launch : run.records.launches) lines += ToJsonLine(launch) + '\n';
  if (run.records.torn_lines > 0) lines += "{\"kind\":\"lau";
  SampleRun again;
  again.manifest = ParseManifest(ToJson(run.manifest), "manifest.json");
  again.records = ParseRecords(lines, "records.jsonl");
  again.verdict = Judge(again.manifest, again.records);
  EXPECT_EQ(Terminal(again), Terminal(run));
  EXPECT_EQ(MarkdownReport(again.AsReplay(), {}), MarkdownReport(run.AsReplay(), {}));
  EXPECT_EQ(JsonReport(again.AsReplay(), {}, 2), JsonReport(run.AsReplay(), {}, 2));
}

TEST_P(Reports, CountTheCasesThatTheyShow) {
  const SampleRun run = GetParam().make();
  for (const Contrast& contrast : run.verdict.contrasts) {
    std::map<Verdict, int> seen;
    for (const CaseVerdict& c : contrast.cases) ++seen[c.device.verdict];
    EXPECT_EQ(
        Tally(contrast.counts),
        fmt::format("{} WIN, {} TIE, {} LOSS, {} INCONCLUSIVE{}", seen[Verdict::kWin], seen[Verdict::kTie],
                    seen[Verdict::kLoss], seen[Verdict::kInconclusive],
                    seen[Verdict::kInvalid] > 0 ? fmt::format(", {} INVALID", seen[Verdict::kInvalid]) : ""));
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, Reports, testing::ValuesIn(RunKinds()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ClearWinReport, NamesTheWinnerFirst) {
  EXPECT_THAT(Terminal(ClearWin()),
              HasSubstr("\n\nWhich one?  fast.\n"
                        "            fast is ahead of slow on 3 cases, tied on none, behind on "
                        "none.\n"));
  EXPECT_THAT(
      MarkdownReport(ClearWin().AsReplay(), {}),
      StartsWith(
          "### sample-suite\n\n**fast vs slow: 3 WIN, 0 TIE, 0 LOSS, 0 INCONCLUSIVE; geomean 1.250x "));
  EXPECT_THAT(WarningsOf(ClearWin().AsReplay()), testing::IsEmpty());
}

TEST(AllTiesReport, OffersBoth) {
  const std::string text = Terminal(AllTies());
  EXPECT_THAT(text, HasSubstr("they tie within 1% overall.\n"));
  EXPECT_THAT(text, HasSubstr("on no case, tied on 3, behind on none."));
  EXPECT_THAT(text, Not(HasSubstr("WIN ?")));
}

TEST(OneVariantReport, HasFiguresAndNoContrast) {
  const std::string text = Terminal(OneVariant());
  EXPECT_THAT(text, HasSubstr("Which one?  Undecided.\n"));
  EXPECT_THAT(text, HasSubstr("\n  case                                     dtype   device     host"));
  EXPECT_THAT(text, Not(HasSubstr("against")));
}

TEST(FiveVariantsReport, ComparesTheLeaderWithTheRunnerUpAndAllWithTheBaseline) {
  const SampleRun run = FiveVariants();
  EXPECT_THAT(Headline(run.AsReplay()),
              StartsWith("spmd_paged_attention_highperf vs paged_attention_unroll"));
  const std::string text = Terminal(run);
  EXPECT_THAT(text, HasSubstr("Which one?  spmd_paged_attention_highperf.\n"));
  EXPECT_THAT(text, HasSubstr("\n  C  spmd_paged_attention_highperf    3    0     0  0  WIN"));
  EXPECT_THAT(text, HasSubstr("\n  E  paged_attention_unroll_4dims     3    0     0  0  WIN"));
}

TEST(MixedReport, NamesTheCaseBehindAndItsWinner) {
  const std::string text = Terminal(Mixed());
  EXPECT_THAT(text, HasSubstr("Which one?  It depends on the case.\n"));
  EXPECT_THAT(text, HasSubstr("            Behind on: " + kCases[1] + ".\n"));
  EXPECT_THAT(text, HasSubstr("\n  LOSS    B vs A on " + kCases[1] + ": 0.909×"));
  EXPECT_THAT(text, HasSubstr("not beaten: A\n"));
}

TEST(InterruptedReport, SaysWhatIsMissingAndHowToGoOn) {
  const std::string text = Terminal(Interrupted());
  EXPECT_THAT(text, HasSubstr("Which one?  Undecided.\n"));
  EXPECT_THAT(text,
              HasSubstr("  ! 29 of 36 planned launches have no record.\n    Next: Run the command again with "
                        "--resume to go on where it stopped.\n"));
  EXPECT_THAT(text, HasSubstr("  ! The last line of the records was cut short and counts as not there.\n"));
  EXPECT_THAT(text, HasSubstr("Launches: 36 planned, 7 used, 29 without a record.\n"));
  EXPECT_THAT(text, HasSubstr("1.25× [no interval]"));
  EXPECT_THAT(text, testing::Not(HasSubstr("--launches"))) << "the run is to be finished, not repeated";
  EXPECT_THAT(text, HasSubstr("  ?       B vs A on " + kCases[1] + " and\n          " + kCases[2] +
                              "\n          Why: "))
      << "two cases with one reason";
}

TEST(NothingTimedReport, SaysEachThingOnce) {
  const SampleRun run = NothingTimed();
  const std::string text = Terminal(run);
  EXPECT_THAT(text, HasSubstr("  ?       B vs A on " + Listed({kCases[0]}) + ","));
  EXPECT_THAT(text, HasSubstr("\n  " + kCases[0] + "  not measured\n  " + kCases[1] + "  not measured\n"));
  const std::vector<std::string> gaps = NotMeasured(run.AsReplay(), 4);
  ASSERT_EQ(gaps.size(), 3u);
  EXPECT_THAT(gaps[2], StartsWith(Listed(kCases) + " (no usable launch"));
  EXPECT_THAT(NotMeasured(run.AsReplay(), 1)[2], StartsWith(kCases[0] + " and 2 more (no usable launch"));
}

TEST(GateFailedReport, ShowsNoSpeedupOfAWrongResult) {
  const SampleRun run = GateFailed();
  const std::string text = Terminal(run);
  EXPECT_THAT(text, HasSubstr("Which one?  No valid answer.\n"));
  EXPECT_THAT(text, HasSubstr("Correct: 11/12 gate runs passed"));
  EXPECT_THAT(text, HasSubstr("\n  INV     B vs A on " + kCases[0] + "\n"));
  EXPECT_THAT(text, HasSubstr("  ! 1 gate run failed: fast on " + kCases[0] + " with seed 1:"));
  EXPECT_THAT(NotMeasured(run.AsReplay(), 4), testing::ElementsAre("other machines", "prefill"));
  const Table table = ContrastTable(run.AsReplay(), run.verdict.contrasts[0]);
  EXPECT_EQ(table.rows[0][4].text, "");
  EXPECT_EQ(table.rows[0][5].text, "INVALID");
  EXPECT_THAT(table.rows[1][4].text, StartsWith("1.25"));
}

TEST(HungReport, NamesTheCulpritAndStillDecidesBetweenTheOthers) {
  const std::string text = Terminal(Hung());
  EXPECT_THAT(text, HasSubstr("Which one?  fast.\n"));
  EXPECT_THAT(text, HasSubstr("  ! 1 launch failed: stuck, hung on " + kCases[1] +
                              " (launch 0): no sign of\n    life for 30 s.\n"));
  EXPECT_THAT(text, HasSubstr("\n  INV     C vs A on " + kCases[1] + "\n"));
  EXPECT_THAT(text, HasSubstr("Launches: 36 planned, 35 used, 1 failed.\n"));
}

TEST(UnsupportedReport, ListsTheCaseAsNotMeasured) {
  const SampleRun run = UnsupportedCase();
  EXPECT_EQ(NotMeasured(run.AsReplay(), 4).back(),
            "fast on " + kCases[2] + " (head_dim 128 is more than 64)");
  EXPECT_THAT(Terminal(run), HasSubstr("\n  ?       B vs A on " + kCases[2] + "\n          Why: "));
}

TEST(ContaminatedReport, CountsTheLaunchLeftOut) {
  EXPECT_THAT(Terminal(Contaminated()),
              HasSubstr("Launches: 36 planned, 35 used, 1 left out (contaminated).\n"));
}

TEST(RunsTable, OneRowPerRun) {
  const SampleRun win = ClearWin(), alone = OneVariant();
  const Table table = RunsTable({{"runs/a", win.AsReplay()}, {"runs/b", alone.AsReplay()}});
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0][0].text, "runs/a");
  EXPECT_EQ(table.rows[0][2].text, "WIN");
  EXPECT_EQ(table.rows[0][3].text, "fast");
  EXPECT_THAT(table.rows[0][5].text, StartsWith("1.250× ["));
  EXPECT_EQ(table.rows[1][2].text, "INCONCLUSIVE");
  EXPECT_EQ(table.rows[1][5].text, "");
}

}  // namespace
}  // namespace pagoda::judge
