// Who is ahead, on each case and overall, by device time.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "judge/verdict/case.h"
#include "judge/verdict/contrast.h"

namespace pagoda::judge {

// Variants in order, and those that no other beats.
struct Ranking {
  std::vector<std::string> order;    // fastest first
  std::vector<std::string> winners;  // in the same order; never empty when `order` isn't
};

// The outcome of the first variant against the second.
using Duel = std::function<const Outcome&(std::string_view variant, std::string_view baseline)>;

// Each variant's place is its mean theta against all others, so no variant is the measure of the rest; ties
// keep the order given. Whoever leads has a theta of 0 or less against the runner-up. Only a WIN beats; a
// MIXED does not.
Ranking Rank(const std::vector<std::string>& variants, const Duel& duel);

// Who is ahead on one case. Ranked are the variants that were right on it and were measured.
struct CaseRanking {
  std::string case_name;
  std::vector<std::string> order;
  std::vector<std::string> winners;
  std::string leader;     // order[0]; empty when nothing was measured
  std::string runner_up;  // order[1]; empty when it is alone
  Outcome lead;           // leader against runner-up; meaningless without one
};

// Both orientations of every pair of the run, kept so that each is computed once.
class Duels {
 public:
  Duels(const std::vector<std::string>& variants, const PairTable& pairs);
  const Contrast& Of(std::string_view variant, std::string_view baseline) const;

 private:
  std::map<std::pair<std::string, std::string>, Contrast, std::less<>> contrasts_;
};

std::vector<CaseRanking> RankCases(const std::vector<std::string>& variants,
                                   const std::vector<CaseRecords>& records, const Duels& duels);

// The variants to rank over the whole run: without an INVALID case, and of those the ones that were measured
// on the most cases.
std::vector<std::string> Eligible(const std::vector<std::string>& variants,
                                  const std::vector<CaseRecords>& records);
// Right so far as is known, proven so at least once, supported, and timed in at least one usable launch.
bool MeasuredOn(const CaseRecords& records, std::string_view variant);

}  // namespace pagoda::judge
