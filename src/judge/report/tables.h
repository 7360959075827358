// The tables of a report, ready for any printer. Columns are titled with the variants' labels (see LabelOf).
#pragma once

#include <string>
#include <vector>

#include "judge/report/replay.h"
#include "judge/report/text.h"

namespace pagoda::judge {

// Ink and short mark of a verdict: "WIN", "TIE", "LOSS", "?", "INV", "MIXED".
Ink InkOf(Verdict verdict);
std::string MarkOf(Verdict verdict);

// What the ratios and marks of the tables below mean.
std::string Legend(const Replay& replay);

// One row per variant, the baseline first: label, name, WIN TIE LOSS ? counts by device time, overall verdict
// and ratio with interval by device time, ratio by host time.
Table SummaryTable(const Replay& replay);

// One row per case: the baseline's device time, then each other variant's ratio and verdict.
Table CompactCaseTable(const Replay& replay);

// A heading per case, then a row per variant: device time, ratio with interval and verdict; host time, ratio
// and verdict; rate, share of the roofline, largest error.
Table FullCaseTable(const Replay& replay);

// One row per case of one contrast: device times of both, ratio with interval, verdict, and the variant's
// rate, share of the roofline and largest error.
Table ContrastTable(const Replay& replay, const Contrast& contrast);

// The same cases by host time.
Table HostTable(const Replay& replay, const Contrast& contrast);

// One row per case of one variant, without a contrast.
Table FiguresTable(const Replay& replay, const std::string& variant);

// A case that went badly for a variant, and why. Cases by device time; `case_name` is empty for a
// contrast whose overall verdict has a reason of its own.
struct Trouble {
  Verdict verdict = Verdict::kInconclusive;
  std::string variant;
  std::string baseline;
  std::string case_name;
  std::string ratio;                    // with interval; empty when INVALID or without a usable launch
  std::vector<std::string> not_beaten;  // LOSS: the case's winners
  std::string reason;                   // else: the one reason with its values
  std::string next;                     // what to do
};
// INVALID first, then LOSS, then INCONCLUSIVE; within each by variant, then by case.
std::vector<Trouble> TroublesOf(const Replay& replay);

}  // namespace pagoda::judge
