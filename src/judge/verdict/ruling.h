// From the numbers of contrasts to their verdicts: what decides a case before its times do, Holm, and what
// the cases do to the verdict over all of them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/verdict/contrast.h"

namespace pagoda::judge {

inline constexpr std::array<Clock, 2> kClocks = {Clock::kDevice, Clock::kHost};
constexpr size_t Index(Clock clock) { return clock == Clock::kDevice ? 0 : 1; }
Outcome& OutcomeOf(CaseVerdict& verdict, Clock clock);
const Outcome& OutcomeOf(const CaseVerdict& verdict, Clock clock);
Outcome& OverallOf(Contrast& contrast, Clock clock);
const Outcome& OverallOf(const Contrast& contrast, Clock clock);
Counts& CountsOf(Contrast& contrast, Clock clock);

struct Ruling {
  Verdict verdict = Verdict::kInvalid;
  Reason reason = Reason::kNone;
  std::string why;
  std::string next;
};

// What is settled about a case before any time is looked at: wrong, unsupported or unproven.
std::optional<Ruling> RuleOut(const CaseRecords& records, std::string_view variant,
                              std::string_view baseline);

// One contrast before its p-values are adjusted: numbers, and what the rule needs to decide by them.
struct MeasuredContrast {
  Contrast contrast;
  std::vector<std::optional<Ruling>> rulings;    // by case
  std::array<std::vector<RuleInput>, 2> inputs;  // by clock, then case
  std::array<RuleInput, 2> overall_inputs;       // by clock
};

// Holm over all cases of all of them, and over their overall numbers, by each clock apart. A case that is
// ruled out counts in the size of the family.
std::vector<AdjustedP> AdjustTogether(const std::vector<MeasuredContrast>& family);

// The verdicts. A loss among wins and a win among losses are the same thing seen from either side, so both
// make the overall verdict MIXED; so does a tie that only hides a win and a loss.
Contrast Conclude(MeasuredContrast measured, const AdjustedP& adjusted);

}  // namespace pagoda::judge
