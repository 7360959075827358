// What a sweep says: who is ahead where, and from where on another one is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "judge/record/record.h"
#include "judge/stats/ranks.h"
#include "judge/verdict/case.h"
#include "judge/verdict/ranking.h"

namespace pagoda::judge {

// Two variants over a sweep. At a point one is ahead where the case's verdict says so: a WIN or a LOSS, with
// its p-value adjusted over the whole run. So where no verdict tells them apart no crossover is made of
// noise.
enum class Course : uint8_t {
  kCrosses,      // each is ahead somewhere
  kAhead,        // one is ahead at every point
  kNeverBehind,  // one is ahead at some points, the other at none
  kTie,          // at every point
  kUndecided,    // none is ahead anywhere, and not all points are ties
  kNotMeasured,  // fewer than two points have times of both
};
// "crosses", "ahead", "never_behind", "tie", "undecided", "not_measured".
std::string_view NameOf(Course course);

// Where the lead passes from one variant to the other. In each launch the two curves of ln(time) cross once
// between `first` and `last`, found as in crossing.h over ln of the axis; the estimate is Hodges-Lehmann over
// launches, with the 95% interval of the signed ranks. It tells how launches differ, not how the curves bend
// between two points.
struct Crossover {
  std::string below, above;  // who is ahead before, and who from there on
  // On the axis. low = 0: the interval reaches beyond the first point, high = inf: beyond the last one. The
  // value is 0, inf or NaN where the launches don't agree on a place.
  Estimate at;
  int64_t below_until = 0, above_from = 0;  // the points on either side at which that is a verdict
  int64_t first = 0, last = 0;              // the points that were searched
  int launches = 0;  // that count: both variants were timed at both points beside the crossing
  int launches_left_out = 0;
};

struct SweepDuel {
  std::string a, b;  // in the manifest's order
  Course course = Course::kNotMeasured;
  std::string ahead;                  // kAhead, kNeverBehind: who
  int points = 0;                     // that both were right at and timed on
  int points_ahead = 0;               // of those, where one of the two is
  std::vector<Crossover> crossovers;  // in the order of the axis; mostly one
};

// Where a sweep was measured, and who is beaten by nobody there, in the manifest's order.
struct SweepStanding {
  std::string case_name;
  int64_t value = 1;
  std::vector<std::string> winners;
};

struct SweepVerdict {
  std::string name, axis;  // the manifest's
  std::vector<SweepStanding> points;
  std::vector<SweepDuel> duels;  // every pair of variants
};

// By device time. `sorted` and `rankings` are of all cases, in the manifest's order.
std::vector<SweepVerdict> JudgeSweeps(const Manifest& manifest, const std::vector<CaseRecords>& sorted,
                                      const std::vector<CaseRanking>& rankings, const Duels& duels,
                                      Statistic statistic);

}  // namespace pagoda::judge
