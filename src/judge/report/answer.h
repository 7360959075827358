// The verdict in words. Every sentence is put together from the figures that it states.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "judge/report/replay.h"

namespace pagoda::judge {

// "15 WIN, 2 TIE, 0 LOSS, 1 INCONCLUSIVE", and ", 1 INVALID" where there is one.
std::string Tally(const Counts& counts);

// "ahead of X on 8 cases, tied on 2, behind on none", then undecided and invalid ones where there are some.
std::string Standing(const Counts& counts, std::string_view rival);

// What to take: "B", "B or C: they tie within 1% overall", "It depends on the case", "Undecided", "No valid
// answer". Then the leader's standing against the runner-up, the recommendation and what to do next.
struct Answer {
  std::string choice;
  std::vector<std::string> sentences;
};
Answer AnswerOf(const Replay& replay);

// The choice and the first sentence of the recommendation.
std::string Brief(const Replay& replay);

// "B vs A: 15 WIN, 2 TIE, 0 LOSS, 1 INCONCLUSIVE; geomean 1.070x [1.066, 1.074]; 54/54 correct, bitwise;
// null 1.000x [0.998, 1.002]; MDE 1.3%" with the names of the variants. With two variants: the other one
// against the baseline; with more: the leader against the runner-up.
std::string Headline(const Replay& replay);

// "150/150 gate runs passed, 30/30 of each variant (5 variants, 10 cases, 3 seeds); bitwise repeatable, with
// a fresh plan too: all", and "; B has the bits of A: 30/30" of variants that promise another's. Counted in
// the records.
std::string Correctness(const Replay& replay);

// What each variant that chooses loses by its choices: "auto: regret against the fastest other variant of
// each of 18 cases: median 0.3%, worst 4.1% [2.2%, 6%] (CASE, where B is fastest)".
std::vector<std::string> RegretSentences(const Replay& replay);

// The aggregation of reports without intervals, beside the verdict: "geometric mean over 18 cases: A 4.12 ms;
// B 3.85 ms, 1.070x (1.063x to 1.076x), judged WIN 1.069x [1.066, 1.074]". Empty with fewer than two cases or
// variants to set beside each other.
std::string MediansAlone(const Replay& replay);

// The null arm's ratio with its interval, and the smallest effect that the run could see.
std::string Resolution(const Replay& replay);

// `text` with a full stop unless it ends in one.
std::string Sentence(std::string_view text);

}  // namespace pagoda::judge
