// One variant against another over all cases, with p-values adjusted over the whole run.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "judge/record/record.h"
#include "judge/verdict/case.h"
#include "judge/verdict/samples.h"

namespace pagoda::judge {

struct Counts {
  int win = 0, loss = 0, tie = 0, inconclusive = 0, invalid = 0;
  int missing = 0;  // of the inconclusive ones: skipped or without a usable launch
};

// One variant against one baseline. overall.speedup is the weighted geometric mean over the cases with its
// interval; overall.verdict may be MIXED.
struct Contrast {
  std::string variant;
  std::string baseline;
  std::vector<CaseVerdict> cases;  // every case of the manifest, in its order
  Outcome overall;                 // device time
  Outcome overall_host;
  Counts counts;  // device time
  Counts counts_host;
};

// The adjusted p-values of one contrast.
struct AdjustedP {
  std::array<std::vector<double>, 2> cases;  // by clock, then case
  std::array<double, 2> overall = {1, 1};
};
struct MeasuredContrast;  // ruling.h

// All pairs of variants. Contrasts with the baseline are one Holm family (cases x contrasts), pairs without
// it another, so that asking who leads costs the contrasts no power; device and host time each have their
// own. Overall verdicts are adjusted over the pairs of their family.
class PairTable {
 public:
  // Keeps references to both.
  PairTable(const Manifest& manifest, const std::vector<CaseRecords>& records, Statistic statistic);

  // Recomputed from the samples, either way round. Both names must be in the manifest and differ.
  Contrast Build(std::string_view variant, std::string_view baseline) const;

 private:
  using Pair = std::pair<std::string, std::string>;

  static Pair Key(std::string_view a, std::string_view b);
  int PairsInFamilyOf(const Pair& pair) const;
  MeasuredContrast MeasurePair(std::string_view variant, std::string_view baseline) const;
  void AdjustFamily(const std::vector<Pair>& family);

  const Manifest& manifest_;
  const std::vector<CaseRecords>& records_;
  Statistic statistic_;
  std::map<Pair, AdjustedP> adjusted_;
};

// The statistic whose null arm spreads less over launches, by the geometric mean over cases of its standard
// deviation in device time: chosen before any contrast is looked at. Typical when there is nothing to choose
// by.
struct StatisticChoice {
  Statistic statistic = Statistic::kTypical;
  double spread_typical = 0;  // in ln
  double spread_floor = 0;
};
StatisticChoice ChooseStatistic(const Manifest& manifest, const std::vector<CaseRecords>& records);

}  // namespace pagoda::judge
