// The tables and sentences of a comparison of two runs, ready for any printer.
#pragma once

#include <string>
#include <vector>

#include "judge/report/replay.h"
#include "judge/report/text.h"
#include "judge/verdict/comparison.h"

namespace pagoda::judge {

// An earlier and a later run, both judged, and what came of comparing them. They outlive the call.
struct ComparedReplays {
  const Replay& before;
  const Replay& after;
  const Comparison& comparison;
};

// What may explain a change and isn't the variants': machine, build, threads, launches, command. Only what
// differs, never empty on both sides.
struct DifferingFact {
  std::string what;
  std::string before;
  std::string after;
};
std::vector<DifferingFact> DifferingFacts(const Manifest& before, const Manifest& after);

// Whether `winners` of a case have one in common; each variant that wins is as good as the others.
struct CaseWinners {
  std::string case_name;
  std::vector<std::string> before, after;
  bool agree = false;
};
std::vector<CaseWinners> WinnersOf(const ComparedReplays& runs);
// Only cases without a common winner; empty where the runs agree everywhere.
Table WinnersTable(const std::vector<CaseWinners>& winners);

// One row per variant: counts of cases by what became of its speed-up, overall before, after and change.
Table ChangeTable(const Comparison& comparison);

// A heading per case, then a row per variant: speed-up before and after with their own verdicts, change with
// interval and verdict.
Table ChangeCaseTable(const Comparison& comparison);

// A heading per case, then a row per variant, the baseline first: device time before and after, their ratio,
// both shares of the roofline.
Table TimesTable(const ComparedReplays& runs);

// What changed, in words; then what can't be said and why, one sentence each.
std::vector<std::string> ChangeSentences(const Comparison& comparison);
std::vector<std::string> UndecidedSentences(const Comparison& comparison);
// Cases and variants of one run only.
std::vector<std::string> NotCompared(const Comparison& comparison);

// What the change means, and that times of two runs aren't paired.
std::string ChangeLegend(const Comparison& comparison);
std::string TimesLegend();

}  // namespace pagoda::judge
