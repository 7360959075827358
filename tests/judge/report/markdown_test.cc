#include "judge/report/markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/report/sample_run.h"

namespace pagoda::judge {
namespace {

using testing::HasSubstr;
using testing::Not;

const ReportPaths kPaths{.records = "runs/x/records.jsonl", .reports = {}};

// clang-format off
constexpr const char* kGolden = R"golden(### sample-suite

**fast vs slow: 1 WIN, 0 TIE, 1 LOSS, 1 INCONCLUSIVE; geomean 1.043x [1.032, 1.054]; 12/12 correct, bitwise; null 1.000x [0.998, 1.002]; MDE 1.3%**

**Which one?** Undecided. fast is ahead of slow on 1 case, tied on none, behind on 1, undecided on 1: 1.04× [1.03, 1.05] overall. Keep slow, the baseline: no variant beats it overall; between fast and slow there is no verdict (one case has no verdict). There is no evidence for or against it on b4_s512_bf16_decode. Next: Run again with --launches 40.

- Run: sample-suite · 3 cases · 12 launches a case · 2 threads · 54.0 s of launches
- Correct: 12/12 gate runs passed, 6/6 of each variant (2 variants, 3 cases, 2 seeds); bitwise repeatable, with a fresh plan too: all
- Resolution: null arm 1.000× [0.998, 1.002] · smallest effect that this run could see overall: 1.3%
- Medians alone: geometric mean over 3 cases: slow 71.4 µs; fast 68.4 µs, 1.044x (0.900x to 1.250x), judged INCONCLUSIVE 1.043x [1.032, 1.054]
- Launches: 36 planned, 36 used

#### Losses, inconclusive and invalid cases

| verdict | variant | against | case | speedup | why | next |
|---|---|---|---|---|---|---|
| LOSS | `fast` | `slow` | `b1_s512_bf16_decode` | 0.900× [0.890, 0.910] | not beaten there: slow | |
| INCONCLUSIVE | `fast` | `slow` | `b4_s512_bf16_decode` | 1.01× [0.98, 1.04] | 1.010x [0.980, 1.040] with a spread of 4% between launches | Run again with --launches 40. |
| INCONCLUSIVE | `fast` | `slow` | overall | 1.04× [1.03, 1.05] | one case has no verdict | Settle it first. |

#### Times

|  | variant | WIN | TIE | LOSS | ? | overall | device time | host time |
|---|---|---:|---:|---:|---:|---|---|---|
| A | `slow` | | | | | baseline | | |
| B | `fast` | 1 | 0 | 1 | 1 | ? | 1.04× [1.03, 1.05] | 0.976× |

(ratios are time of A / time of the variant, above 1 is faster than A; ? is INCONCLUSIVE; intervals are at 95%)

Device time:

| case | dtype | A | B | speedup | verdict | B rate | B of roofline | B max error |
|---|---|---:|---:|---|---|---:|---:|---:|
| `b1_s128_bf16_decode` | bf16 | 10.0 µs | 8.00 µs | 1.25× [1.23, 1.27] | WIN | 15.0 GB/s | 93.8% | 3.1e-05 |
| `b1_s512_bf16_decode` | bf16 | 900 µs | 1.00 ms | 0.900× [0.890, 0.910] | LOSS | 0.120 GB/s | 0.8% | 3.1e-05 |
| `b4_s512_bf16_decode` | bf16 | 40.4 µs | 40.0 µs | 1.01× [0.98, 1.04] | INCONCLUSIVE | 3.00 GB/s | 18.8% | 3.1e-05 |

Host time (call to return):

| case | A | B | speedup | verdict |
|---|---:|---:|---|---|
| `b1_s128_bf16_decode` | 12.0 µs | 10.0 µs | 1.00× [1.00, 1.01] | TIE |
| `b1_s512_bf16_decode` | 902 µs | 1.00 ms | 0.920× [0.910, 0.930] | LOSS |
| `b4_s512_bf16_decode` | 42.4 µs | 42.0 µs | 1.01× [0.98, 1.04] | INCONCLUSIVE |

<details><summary>Environment, command, protocol, raw data</summary>

**Environment**

- CPU: Example CPU
- instruction set: avx2
- compiler: g++ 12.2
- commit: 0123abc, sources unchanged
- time: 2026-03-01T12:00:00Z
- read bandwidth: 20.0 GB/s (streams, 2 threads)
- compute peak: 100 GFLOP/s (avx2, bf16, 2 threads)
- during the launches: load at most 0.25, steal at most 0.1%, other processes on at most 0.0% of the CPUs, at most 0 involuntary context switches a launch
- clock resolution: 20.0 ns

**Command**

`pagoda bench sample-suite --seed 2026`

**Protocol**

- launches: 12 a case, each a fresh process that times all variants; seed 2026; 2 threads
- in a launch: 16 blocks, each variant twice a block; 200 calls a timing
- cache: cold
- launch value: typical, chosen from the null arm alone (its spread in ln: typical 0.00310, floor 0.00420)
- interval: Hodges-Lehmann over launches with the signed-rank interval, 95%, not adjusted for other cases; p-values are exact and Holm-adjusted over cases and variants
- smallest difference that matters: 1%

**Raw data**

`runs/x/records.jsonl`

</details>

#### Not measured

- other machines
- prefill
)golden";
// clang-format on

TEST(MarkdownReport, IsThisText) { EXPECT_EQ(MarkdownReport(HandMadeRun().AsReplay(), kPaths), kGolden); }

TEST(MarkdownReport, SeveralContrastsAreFolded) {
  SampleRun run = HandMadeRun();
  run.manifest.variants = {"slow", "fast", "third"};
  run.verdict.contrasts.push_back(run.verdict.contrasts.front());
  run.verdict.contrasts.back().variant = "third";
  const std::string text = MarkdownReport(run.AsReplay(), kPaths);
  EXPECT_THAT(text, HasSubstr("| case | A | B |  | C |  |\n"));
  EXPECT_THAT(text, HasSubstr("<details><summary>B fast against A slow: 1 WIN, 0 TIE, 1 LOSS, 1 "
                              "INCONCLUSIVE</summary>\n\nDevice time:"));
  EXPECT_THAT(text, HasSubstr("<details><summary>C third against A slow:"));
}

TEST(MarkdownReport, LossesStandBeforeInconclusivesAndBothBeforeTheTables) {
  const std::string text = MarkdownReport(HandMadeRun().AsReplay(), kPaths);
  const size_t loss = text.find("| LOSS |"), unsure = text.find("| INCONCLUSIVE |"),
               times = text.find("#### Times");
  EXPECT_LT(loss, unsure);
  EXPECT_LT(unsure, times);
  EXPECT_LT(times, text.find("<details>"));
  EXPECT_LT(text.find("</details>"), text.find("#### Not measured"));
}

TEST(MarkdownReport, HostileNamesStayText) {
  SampleRun run = HandMadeRun();
  run.manifest.suite = "<script>alert(1)</script>";
  run.manifest.not_measured = {"a\n\n# b", "<img src=x>"};
  run.verdict.contrasts[0].cases[2].device.why = "x | y\nz";
  const std::string text = MarkdownReport(run.AsReplay(), kPaths);
  EXPECT_THAT(text, HasSubstr("### \\<script\\>"));
  EXPECT_THAT(text, HasSubstr("- a  # b\n"));
  EXPECT_THAT(text, HasSubstr("- \\<img src=x\\>\n"));
  EXPECT_THAT(text, HasSubstr("| x \\| y z |"));
  EXPECT_THAT(text, Not(HasSubstr("\n# b")));
}

}  // namespace
}  // namespace pagoda::judge
