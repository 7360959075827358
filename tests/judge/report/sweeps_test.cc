#include "judge/report/sweeps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "judge/report/html_sweeps.h"
#include "judge/report/markdown.h"
#include "judge/report/run_kinds.h"
#include "judge/report/terminal.h"

namespace pagoda::judge {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

SweepVerdict Over(const std::string& axis) { return {.name = "s*", .axis = axis, .points = {}, .duels = {}}; }

Crossover At(double value, double low, double high) {
  return {.below = "a",
          .above = "b",
          .at = {value, low, high},
          .below_until = 1024,
          .above_from = 4096,
          .first = 64,
          .last = 65536};
}

TEST(CrossoverText, IsWhatADispatchRuleNeeds) {
  EXPECT_EQ(CrossoverText(Over("context"), At(2153.4, 1899, 2401)),
            "b from 2,150 [1,900, 2,400] keys on, a below");
  EXPECT_EQ(CrossoverText(Over("batch"), At(3.254, 2.9, 3.6)),
            "b from 3.25 [2.90, 3.60] sequences on, a below");
  EXPECT_EQ(CrossoverText(Over("page_size"), At(20, 18, 22)),
            "b from 20.0 [18.0, 22.0] slots a page on, a below");
  EXPECT_EQ(CrossoverText(Over("moon"), At(3, 2, 4)), "b from 3.00 [2.00, 4.00] moon on, a below");
}

TEST(CrossoverText, SaysWhereAnIntervalIsOpen) {
  EXPECT_EQ(CrossoverText(Over("context"), At(2150, 1900, kInf)),
            "b from 2,150 [1,900, beyond 65,536] keys on, a below");
  EXPECT_EQ(CrossoverText(Over("context"), At(2150, 0, 2400)),
            "b from 2,150 [below 64, 2,400] keys on, a below");
  for (const double nowhere : {0.0, kInf, kNaN}) {
    EXPECT_EQ(CrossoverText(Over("context"), At(nowhere, 0, kInf)),
              "b from somewhere between 1,024 and 4,096 keys on, a below: launches don't agree where");
  }
}

TEST(Sweeps, SayWhereTheLeadChangesAndNoMore) {
  const SampleRun run = Crossing();
  const SweepVerdict& sweep = run.verdict.sweeps[0];
  EXPECT_FALSE(IsSteady(sweep));
  EXPECT_THAT(SweepSentences(sweep), ElementsAre("fast from 1,300 [1,290, 1,310] keys on, slow below."));
  EXPECT_THAT(LeadingCrossovers(sweep), SizeIs(1));
  const Table table = StandingsTable(run.AsReplay(), sweep);
  EXPECT_EQ(table.columns[0].title, "keys");
  ASSERT_THAT(table.rows, SizeIs(2));
  EXPECT_EQ(table.rows[0][0].text, "512");
  EXPECT_EQ(table.rows[0][1].text, "A");
  EXPECT_EQ(table.rows[1][0].text, "4,096");
  EXPECT_EQ(table.rows[1][1].text, "B");
}

TEST(Sweeps, CrossoversComeInTheOrderOfTheAxis) {
  SampleRun run = Crossing();
  SweepVerdict& sweep = run.verdict.sweeps[0];
  Crossover early = sweep.duels[0].crossovers[0];
  early.above_from = 600;
  sweep.duels[0].crossovers.push_back(early);
  ASSERT_THAT(LeadingCrossovers(sweep), SizeIs(2));
  EXPECT_EQ(LeadingCrossovers(sweep)[0]->above_from, 600);
}

TEST(Sweeps, ATableHasEveryCrossover) {
  SampleRun run = Crossing();
  EXPECT_EQ(CrossoverCount(run.AsReplay()),
            "All 2 crossovers, 1 of them with a variant that leads nowhere on its sweep");
  Table table = CrossoverTable(run.AsReplay());
  ASSERT_THAT(table.rows, SizeIs(2));
  std::string row;
  for (const Cell& cell : table.rows[0]) row += cell.text + "|";
  EXPECT_EQ(row, "b1_h16_kv8_s*_bs64_hd128_bf16_decode|1,300|[1,290, 1,310]|keys|fast|slow|12|");
  EXPECT_EQ(table.rows[1][4].text, "fast");
  EXPECT_EQ(table.rows[1][5].text, "third");
  run.verdict.sweeps[0].duels[0].crossovers[0].at.value = kNaN;
  EXPECT_EQ(CrossoverTable(run.AsReplay()).rows[0][1].text, "");
  EXPECT_THAT(TerminalReport(run.AsReplay(), {}, {}), HasSubstr("All 2 crossovers, 1 of them"));
  EXPECT_THAT(MarkdownReport(run.AsReplay(), {}), HasSubstr("<details><summary>All 2 crossovers, 1 of them"));
  EXPECT_THAT(SweepSection(run.AsReplay()), HasSubstr("<summary>All 2 crossovers, 1 of them"));
}

SweepDuel Duel(Course course) {
  return {.a = "slow",
          .b = "fast",
          .course = course,
          .ahead = "",
          .points = 2,
          .points_ahead = 0,
          .crossovers = {}};
}

TEST(Sweeps, OfOneLeadShareALine) {
  SampleRun run = Crossing();
  EXPECT_TRUE(IsSteady(run.verdict.sweeps[1]));
  EXPECT_EQ(SteadySentence(run.AsReplay(), 4),
            "No change of lead: B on b*_h16_kv8_s4096_bs64_hd128_bf16_decode.");
  SweepVerdict tied = run.verdict.sweeps[1];
  for (SweepStanding& point : tied.points) point.winners = {"slow", "fast"};
  run.verdict.sweeps = {tied, tied, tied};
  for (SweepVerdict& sweep : run.verdict.sweeps) sweep.duels = {Duel(Course::kTie)};
  EXPECT_EQ(SteadySentence(run.AsReplay(), 1),
            "No change of lead: A or B (shown to be the same) on " + tied.name + " and 2 more.");
  for (SweepStanding& point : run.verdict.sweeps[0].points) point.winners.clear();
  EXPECT_THAT(SteadySentence(run.AsReplay(), 4), HasSubstr("Undecided who leads: nobody measured on"));
}

TEST(Sweeps, WhereNoneIsToldApartNothingIsSaidOfALead) {
  SampleRun run = Crossing();
  SweepVerdict unsure = run.verdict.sweeps[1];
  for (SweepStanding& point : unsure.points) point.winners = {"slow", "fast"};
  unsure.duels = {Duel(Course::kUndecided)};
  run.verdict.sweeps = {unsure};
  EXPECT_EQ(SteadySentence(run.AsReplay(), 4), "Undecided who leads: A or B on " + unsure.name + ".");
  run.verdict.sweeps = {Crossing().verdict.sweeps[1], unsure};
  EXPECT_EQ(SteadySentence(run.AsReplay(), 4), "No change of lead: B on " + unsure.name +
                                                   ". Undecided who leads: A or B on " + unsure.name + ".");
}

TEST(Sweeps, ALeadWithoutACrossoverIsSaid) {
  SampleRun run = Crossing();
  SweepVerdict& sweep = run.verdict.sweeps[0];
  sweep.points[0].winners = {"slow", "fast"};
  sweep.duels = {{.a = "slow",
                  .b = "fast",
                  .course = Course::kNeverBehind,
                  .ahead = "fast",
                  .points = 2,
                  .points_ahead = 1,
                  .crossovers = {}}};
  EXPECT_THAT(SweepSentences(sweep),
              ElementsAre("fast is ahead of slow at 1 of 2 points and behind at none."));
}

TEST(Sweeps, StandInEveryReport) {
  const SampleRun run = Crossing();
  const std::string sentence = SweepSentences(run.verdict.sweeps[0])[0];
  const std::string terminal = TerminalReport(run.AsReplay(), {}, {});
  EXPECT_THAT(terminal, AllOf(HasSubstr("Over context: b1_h16_kv8_s*_bs64_hd128_bf16_decode\n  " + sentence),
                              HasSubstr("  keys   beaten by none\n  512    A\n  4,096  B\n"),
                              HasSubstr("\n  No change of lead: B on b*_h16_")));
  EXPECT_THAT(
      MarkdownReport(run.AsReplay(), {}),
      AllOf(
          HasSubstr("#### Crossovers\n\n**Over context:** `b1_h16_kv8_s*_bs64_hd128_bf16_decode`\n\n- fast"),
          HasSubstr("| 4,096 | B |")));
  const std::string html = SweepSection(run.AsReplay());
  EXPECT_THAT(html, AllOf(HasSubstr("<li>" + sentence + "</li>"), HasSubstr("<rect class=\"zone\""),
                          HasSubstr("<line class=\"v1\""), HasSubstr("<line class=\"one\"")));
}

TEST(Sweeps, NoReportSpeaksOfThemWhereThereAreNone) {
  const SampleRun run = ClearWin();
  EXPECT_THAT(SweepSection(run.AsReplay()), IsEmpty());
  EXPECT_THAT(MarkdownReport(run.AsReplay(), {}), Not(HasSubstr("Crossover")));
  EXPECT_THAT(TerminalReport(run.AsReplay(), {}, {}), Not(HasSubstr("lead:")));
}

}  // namespace
}  // namespace pagoda::judge
