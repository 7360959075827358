#include "judge/report/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "judge/report/sample_run.h"
#include "judge/report/text.h"

namespace pagoda::judge {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const ReportPaths kPaths{.records = "runs/x/records.jsonl",
                         .reports = {"runs/x/report.md", "runs/x/report.json"}};

// clang-format off
constexpr const char* kGolden = R"golden(sample-suite · 3 cases · 12 launches a case · 2 threads · 54.0 s of launches
Machine: Example CPU · avx2 · load ≤ 0.25, steal ≤ 0.1%
Correct: 12/12 gate runs passed, 6/6 of each variant (2 variants, 3 cases, 2 seeds); bitwise
    repeatable, with a fresh plan too: all

Which one?  Undecided.
            fast is ahead of slow on 1 case, tied on none, behind on 1, undecided on 1: 1.04×
            [1.03, 1.05] overall.
            Keep slow, the baseline: no variant beats it overall; between fast and slow there is no
            verdict (one case has no verdict).
            There is no evidence for or against it on b4_s512_bf16_decode.
            Next: Run again with --launches 40.

     variant  WIN  TIE  LOSS  ?  overall   device time         host time
  A  slow                        baseline
  B  fast       1    0     1  1  ?         1.04× [1.03, 1.05]  0.976×
  ratios are time of A / time of the variant, above 1 is faster than A; ? is INCONCLUSIVE
  null arm 1.000× [0.998, 1.002] · smallest effect that this run could see overall: 1.3%
  medians alone, geometric mean over 3 cases: slow 71.4 µs; fast 68.4 µs, 1.044x (0.900x to 1.250x),
      judged INCONCLUSIVE 1.043x [1.032, 1.054]

  LOSS    B vs A on b1_s512_bf16_decode: 0.900× [0.890, 0.910], not beaten: A
  ?       B vs A on b4_s512_bf16_decode: 1.01× [0.98, 1.04]
          Why: 1.010x [0.980, 1.040] with a spread of 4% between launches.
          Next: Run again with --launches 40.
  ?       B vs A overall: 1.04× [1.03, 1.05]
          Why: one case has no verdict.
          Next: Settle it first.

        device  against A                       host  against A         rate  roofline  max error
  b1_s128_bf16_decode  (bound 7.50 µs, memory; rate in GB/s)
    A  10.0 µs                               12.0 µs                    12.0     75.0%    3.1e-05
    B  8.00 µs  1.25× [1.23, 1.27]     WIN   10.0 µs  1.00×      TIE    15.0     93.8%    3.1e-05
  b1_s512_bf16_decode  (bound 7.50 µs, memory; rate in GB/s)
    A   900 µs                                902 µs                   0.133      0.8%    3.1e-05
    B  1.00 ms  0.900× [0.890, 0.910]  LOSS  1.00 ms  0.920×     LOSS  0.120      0.8%    3.1e-05
  b4_s512_bf16_decode  (bound 7.50 µs, memory; rate in GB/s)
    A  40.4 µs                               42.4 µs                    2.97     18.6%    3.1e-05
    B  40.0 µs  1.01× [0.98, 1.04]     ?     42.0 µs  1.01×      ?      3.00     18.8%    3.1e-05

Launches: 36 planned, 36 used.
Not measured: other machines; prefill.
Raw data: runs/x/records.jsonl
Reports: runs/x/report.md and runs/x/report.json
Again: pagoda bench sample-suite --seed 2026
)golden";
// clang-format on

TEST(TerminalReport, IsThisText) { EXPECT_EQ(TerminalReport(HandMadeRun().AsReplay(), kPaths, {}), kGolden); }

TEST(TerminalReport, SaysWhatRanAndWhosePeaksBoundIt) {
  SampleRun run = HandMadeRun();
  run.manifest.environment.isa = "scalar";
  EXPECT_THAT(TerminalReport(run.AsReplay(), {}, {}),
              HasSubstr("Example CPU · scalar (roofline of avx2) · load"));
  run.manifest.environment.isa = "";  // an older run
  EXPECT_THAT(TerminalReport(run.AsReplay(), {}, {}), HasSubstr("Example CPU · load"));
}

TEST(TerminalReport, IsTheSameUnderItsColours) {
  const std::string coloured = TerminalReport(HandMadeRun().AsReplay(), kPaths, {.colour = true});
  std::string plain;
  for (size_t i = 0; i < coloured.size(); ++i) {
    if (coloured[i] == '\x1b') {
      i = coloured.find('m', i);
    } else {
      plain += coloured[i];
    }
  }
  EXPECT_EQ(plain, kGolden);
  EXPECT_THAT(coloured, HasSubstr("\x1b[31mLOSS"));
}

TEST(TerminalReport, FitsAHundredColumns) {
  std::istringstream lines(TerminalReport(HandMadeRun().AsReplay(), kPaths, {}));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), 100u) << line;
}

TEST(TerminalReport, TheShortFormHasARowPerCase) {
  EXPECT_THAT(TerminalReport(HandMadeRun().AsReplay(), kPaths, {.full = false}),
              HasSubstr("\n  case                       A       B\n"
                        "  b1_s128_bf16_decode  10.0 µs   1.25×  WIN\n"
                        "  b1_s512_bf16_decode   900 µs  0.900×  LOSS\n"
                        "  b4_s512_bf16_decode  40.4 µs   1.01×  ?\n\n"));
}

TEST(TerminalReport, CountsTheTroublesThatItLeavesOut) {
  SampleRun run = HandMadeRun();
  for (CaseVerdict& c : run.verdict.contrasts[0].cases) c.device.verdict = Verdict::kLoss;
  const std::string text = TerminalReport(run.AsReplay(), kPaths, {.most_troubles = 1});
  EXPECT_THAT(text, HasSubstr("  LOSS    B vs A on b1_s128_bf16_decode: 1.25×"));
  EXPECT_THAT(text, Not(HasSubstr("LOSS    B vs A on b1_s512")));
  EXPECT_THAT(text, HasSubstr("… and 2 more LOSS; --format markdown lists all"));
}

TEST(TerminalReport, CutsASentenceThatWouldFillTheScreen) {
  SampleRun run = HandMadeRun();
  std::string word;
  for (int i = 0; i < 80; ++i) word += "word ";
  run.verdict.recommendation.sentences = {word + "end."};
  const std::string text = TerminalReport(run.AsReplay(), kPaths, {});
  EXPECT_THAT(text, HasSubstr("word …\n            Next:"));
  EXPECT_THAT(text, HasSubstr("(shortened; --format markdown has it whole)"));
  EXPECT_THAT(text, Not(HasSubstr("end.")));
}

TEST(TerminalReport, MarksSuspectTimes) {
  SampleRun run = HandMadeRun();
  run.verdict.figures[1].suspect = true;
  run.verdict.figures[1].roofline_fraction = 1.2;
  EXPECT_THAT(TerminalReport(run.AsReplay(), kPaths, {}),
              AllOf(HasSubstr("120.0% !"), HasSubstr("  ! Faster than the machine's own bound")));
}

TEST(TerminalReport, ALongReportRepeatsTheAnswerAtItsEnd) {
  SampleRun run = HandMadeRun();
  EXPECT_THAT(TerminalReport(run.AsReplay(), kPaths, {}), Not(HasSubstr("Answer:")));
  for (int i = 0; i < 10; ++i) run.verdict.cases.push_back(run.verdict.cases.front());
  EXPECT_THAT(TerminalReport(run.AsReplay(), kPaths, {}),
              testing::EndsWith(
                  "\nAnswer: Undecided. Keep slow, the baseline: no variant beats it overall; between fast "
                  "and slow there\n        is no verdict (one case has no verdict).\n"));
}

TEST(TerminalReport, ObeysNoEscapeSequenceFromTheRecords) {
  SampleRun run = HandMadeRun();
  run.manifest.suite = "a\x1b[2Jb";
  run.manifest.command_line = "c\x1b[2Jd";
  run.manifest.not_measured = {"e\x1b[2Jf"};
  run.verdict.why = "g\x1b[2Jh";
  for (CaseVerdict& c : run.verdict.contrasts[0].cases) c.case_name += "\x1b[2J";
  for (CaseRanking& c : run.verdict.cases) c.case_name += "\x1b[2J";
  EXPECT_THAT(TerminalReport(run.AsReplay(), {.records = "\x1b[2J", .reports = {"\x1b[2J"}}, {}),
              Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace pagoda::judge
