// The aggregation of reports without intervals: of each variant the geometric mean of the cases' medians.
#pragma once

#include <string>
#include <vector>

#include "judge/record/record.h"
#include "judge/verdict/figures.h"

namespace pagoda::judge {

struct CaseRecords;

// Beside a verdict, for a reader who knows only this: it has no interval, so it can't tell an effect from
// noise.
struct Medians {
  struct OfVariant {
    std::string variant;
    double geomean_us = 0;  // over the cases, of Figures::device_us; unweighted
    // t_baseline / t_variant: of the geometric means, and the least and the most of a case. 1 of the
    // baseline.
    double ratio = 1, least = 1, most = 1;
  };
  int cases = 0;                    // on which all of these variants were timed and right
  std::vector<OfVariant> variants;  // the baseline, then the others in the manifest's order
};

// Of the variants that were timed and right on any case. Empty where the baseline is none of them, or where
// there is no case that all of them share. `figures` is ComputeFigures of the same arguments.
Medians AggregateMedians(const Manifest& manifest, const std::vector<CaseRecords>& sorted,
                         const std::vector<Figures>& figures);

}  // namespace pagoda::judge
