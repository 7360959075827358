// Do launches fall into two groups?
#pragma once

#include <optional>
#include <span>

namespace pagoda::judge {

struct Modes {
  double low = 0;   // median of the lower group
  double high = 0;  // median of the upper group
  int low_count = 0;
  int high_count = 0;
  double separation = 0;  // between the groups' means, in standard deviations within the groups
};

inline constexpr double kModeSeparation = 6;
inline constexpr int kLeastForModes = 8;

// The split of the sorted sample into two groups, each of at least 3 and a fifth of the values, whose means
// lie the most within-group standard deviations apart; nothing when that is less than kModeSeparation, or
// with fewer than kLeastForModes values.
//
// Why 6: the best split of a sample without modes reaches 3 on average. By simulation (tests/power), 6 is
// passed in 1.4% of normal samples of 8 values, 0.4% of 12 and under 0.1% from 16 on, less often with the
// heavy tails of Student's t at 3 degrees, whose outliers the least group size keeps from being a group; two
// modes 10 apart are found in over 95% of samples of 12. Tests of unimodality such as Hartigan's dip have no
// power at such sizes.
std::optional<Modes> FindModes(std::span<const double> sample);

}  // namespace pagoda::judge
