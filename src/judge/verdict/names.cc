#include "judge/verdict/case.h"

namespace pagoda::judge {

std::string_view NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWin:
      return "WIN";
    case Verdict::kLoss:
      return "LOSS";
    case Verdict::kTie:
      return "TIE";
    case Verdict::kInconclusive:
      return "INCONCLUSIVE";
    case Verdict::kInvalid:
      return "INVALID";
    case Verdict::kMixed:
      return "MIXED";
  }
  return "";
}

Verdict Mirrored(Verdict verdict) {
  if (verdict == Verdict::kWin) return Verdict::kLoss;
  if (verdict == Verdict::kLoss) return Verdict::kWin;
  return verdict;
}

std::string_view NameOf(Reason reason) {
  switch (reason) {
    case Reason::kNone:
      return "";
    case Reason::kGateFailed:
      return "gate_failed";
    case Reason::kTimedOutputWrong:
      return "timed_output_wrong";
    case Reason::kHung:
      return "hung";
    case Reason::kCrashed:
      return "crashed";
    case Reason::kUnsupported:
      return "unsupported";
    case Reason::kMissing:
      return "missing";
    case Reason::kNotGated:
      return "not_gated";
    case Reason::kNoNullArm:
      return "no_null_arm";
    case Reason::kContaminated:
      return "contaminated";
    case Reason::kBimodal:
      return "bimodal";
    case Reason::kClockTooCoarse:
      return "clock_too_coarse";
    case Reason::kStatisticsDisagree:
      return "statistics_disagree";
    case Reason::kInsideNullBias:
      return "inside_null_bias";
    case Reason::kTooFewLaunches:
      return "too_few_launches";
    case Reason::kUnderpowered:
      return "underpowered";
    case Reason::kInvalidCase:
      return "invalid_case";
    case Reason::kMissingCase:
      return "missing_case";
    case Reason::kOneVariant:
      return "one_variant";
  }
  return "";
}

std::string_view NameOf(Clock clock) { return clock == Clock::kDevice ? "device" : "host"; }

std::string_view NameOf(Statistic statistic) {
  return statistic == Statistic::kTypical ? "typical" : "floor";
}

}  // namespace pagoda::judge
