#include "judge/report/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/listed.h"
#include "judge/report/numbers.h"
#include "judge/report/text.h"

namespace pagoda::judge {
namespace {

std::string WithInterval(const Estimate& ratio) {
  return RatioWithInterval(ratio.value, ratio.low, ratio.high);
}

// A chooser may be measured faster than what it chose.
std::string SignedPercent(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::string Number(int count) { return count == 0 ? "none" : Count(count); }

std::string TiedChoice(const RunVerdict& run, double delta) {
  const std::string names = Listed(run.winners, "or");
  if (run.winners.size() <= 2) return fmt::format("{}: they tie within {} overall", names, SetPercent(delta));
  return fmt::format("{}: none of them is beaten overall, and {} and {} tie within {}", names, run.leader,
                     run.runner_up, SetPercent(delta));
}

std::vector<std::string> CasesWith(const Contrast& contrast, Verdict verdict) {
  std::vector<std::string> names;
  for (const CaseVerdict& c : contrast.cases) {
    if (c.device.verdict == verdict) names.push_back(c.case_name);
  }
  return names;
}

std::string StandingOfLeader(const RunVerdict& run, const Contrast& top) {
  const Estimate& speedup = top.overall.speedup;
  std::string text = top.variant + " is " + Standing(top.counts, top.baseline);
  // With a verdict the recommendation states the ratio.
  const bool decided =
      run.verdict == Verdict::kWin || run.verdict == Verdict::kTie || run.verdict == Verdict::kMixed;
  if (!decided && std::isfinite(speedup.value)) text += ": " + WithInterval(speedup) + " overall";
  return text + ".";
}

// ", 54/54 of each variant" where that is so.
std::string EachOf(const std::vector<GateTally>& tallies) {
  if (tallies.size() < 2) return "";
  const GateTally& first = tallies.front();
  const bool alike = std::all_of(tallies.begin(), tallies.end(), [&](const GateTally& t) {
    return t.passed == first.passed && t.total == first.total;
  });
  return alike ? fmt::format(", {}/{} of each variant", first.passed, first.total) : "";
}

// The contrast that the headline is about; null with a single variant.
const Contrast* HeadlineContrast(const RunVerdict& run) {
  if (run.contrasts.size() == 1) return &run.contrasts.front();
  return run.top ? &*run.top : nullptr;
}

}  // namespace

std::string Sentence(std::string_view text) {
  std::string sentence(text);
  if (!sentence.empty() && std::string_view(".!?").find(sentence.back()) == std::string_view::npos) {
    sentence += '.';
  }
  return sentence;
}

std::string Tally(const Counts& counts) {
  std::string text = fmt::format("{} WIN, {} TIE, {} LOSS, {} INCONCLUSIVE", counts.win, counts.tie,
                                 counts.loss, counts.inconclusive);
  if (counts.invalid > 0) text += fmt::format(", {} INVALID", counts.invalid);
  return text;
}

std::string Standing(const Counts& counts, std::string_view rival) {
  std::string text = counts.win == 0
                         ? fmt::format("ahead of {} on no case", rival)
                         : fmt::format("ahead of {} on {}", rival, Counted(counts.win, "case", "cases"));
  text += fmt::format(", tied on {}, behind on {}", Number(counts.tie), Number(counts.loss));
  if (counts.inconclusive > 0) text += fmt::format(", undecided on {}", counts.inconclusive);
  if (counts.invalid > 0) text += fmt::format(", invalid on {}", counts.invalid);
  return text;
}

Answer AnswerOf(const Replay& replay) {
  const RunVerdict& run = replay.run;
  Answer answer;
  switch (run.verdict) {
    case Verdict::kWin:
      answer.choice = run.leader;
      break;
    case Verdict::kTie:
      answer.choice = TiedChoice(run, replay.manifest.delta);
      break;
    case Verdict::kMixed:
      answer.choice = "It depends on the case";
      break;
    case Verdict::kInvalid:
      answer.choice = "No valid answer";
      break;
    default:
      answer.choice = "Undecided";
      break;
  }
  if (run.top) answer.sentences.push_back(StandingOfLeader(run, *run.top));
  if (run.top && run.verdict == Verdict::kMixed) {
    answer.sentences.push_back("Behind on: " + Listed(CasesWith(*run.top, Verdict::kLoss)) + ".");
  }
  const std::vector<std::string>& advice = run.recommendation.sentences;
  answer.sentences.insert(answer.sentences.end(), advice.begin(), advice.end());
  if (!run.next.empty()) answer.sentences.push_back("Next: " + Sentence(run.next));
  return answer;
}

std::string Brief(const Replay& replay) {
  const std::vector<std::string>& advice = replay.run.recommendation.sentences;
  return Sentence(AnswerOf(replay).choice) + (advice.empty() ? "" : " " + advice.front());
}

std::string Correctness(const Replay& replay) {
  const RunVerdict& run = replay.run;
  if (run.gates_total == 0) return "no gate run in the records";
  std::set<std::string> cases;
  std::set<uint64_t> seeds;
  int repeatable = 0;
  for (const GateRecord& gate : replay.records.gates) {
    cases.insert(gate.case_name);
    seeds.insert(gate.seed);
    repeatable += gate.bitwise_repeatable ? 1 : 0;
  }
  const std::string bitwise =
      run.bitwise_all ? "all" : fmt::format("{} of {}", repeatable, replay.records.gates.size());
  const std::string missing =
      run.gates_missing > 0 ? fmt::format(", {} without a record", Count(run.gates_missing)) : "";
  const std::vector<GateTally> tallies = GateTallies(replay.records);
  std::string text =
      fmt::format("{}/{} gate runs passed{}{} ({}, {}, {}); bitwise repeatable, with a fresh plan too: {}",
                  run.gates_passed, run.gates_total, EachOf(tallies), missing,
                  Counted(static_cast<int64_t>(tallies.size()), "variant", "variants"),
                  Counted(static_cast<int64_t>(cases.size()), "case", "cases"),
                  Counted(static_cast<int64_t>(seeds.size()), "seed", "seeds"), bitwise);
  for (const GateTally& tally : tallies) {
    if (tally.same_bits == 0) continue;
    text += fmt::format("; {} has the bits of {}: {}/{}", tally.variant, tally.same_bits_as, tally.same_bits,
                        tally.total);
  }
  return text;
}

std::string MediansAlone(const Replay& replay) {
  const Medians& medians = replay.run.medians;
  if (medians.cases < 2 || medians.variants.size() < 2) return "";
  const auto all = static_cast<int>(replay.manifest.cases.size());
  std::string text =
      fmt::format("geometric mean over {}{}:", medians.cases == all ? "" : Count(medians.cases) + " of ",
                  Counted(all, "case", "cases"));
  for (const Medians::OfVariant& of : medians.variants) {
    const bool first = &of == &medians.variants.front();
    text += fmt::format("{}{} {}", first ? " " : "; ", of.variant, Micros(of.geomean_us));
    const Contrast* contrast = FindContrast(replay.run, of.variant);
    if (contrast == nullptr) continue;
    const Estimate& judged = contrast->overall.speedup;
    text += fmt::format(", {} ({} to {}), judged {}", FineRatio(of.ratio, "x"), FineRatio(of.least, "x"),
                        FineRatio(of.most, "x"), NameOf(contrast->overall.verdict));
    if (contrast->overall.verdict != Verdict::kInvalid && std::isfinite(judged.value))
      text += fmt::format(" {}", FineRatioWithInterval(judged.value, judged.low, judged.high, "x"));
  }
  return text;
}

std::vector<std::string> RegretSentences(const Replay& replay) {
  std::vector<std::string> sentences;
  for (const Regret& r : replay.run.regrets) {
    const Estimate& worst = r.worst.regret;
    sentences.push_back(
        fmt::format("{}: regret against the fastest other variant of each of {}: median {}, worst {} [{}, "
                    "{}] ({}, where {} is "
                    "fastest)",
                    r.chooser, Counted(std::ssize(r.cases), "case", "cases"), SignedPercent(r.median),
                    SignedPercent(worst.value), SignedPercent(worst.low), SignedPercent(worst.high),
                    r.worst.case_name, r.worst.best));
  }
  return sentences;
}

std::string Resolution(const Replay& replay) {
  const Estimate& null = replay.run.null;
  const std::string arm = std::isfinite(null.value)
                              ? FineRatioWithInterval(null.value, null.low, null.high, "×")
                              : std::string("not measured");
  const double mde = replay.run.mde;
  const std::string effect = std::isfinite(mde) ? Percent(mde)
                             : std::isinf(mde)  ? "none at this number of launches"
                                                : "not known";
  return fmt::format("null arm {} · smallest effect that this run could see overall: {}", arm, effect);
}

std::string Headline(const Replay& replay) {
  const RunVerdict& run = replay.run;
  const Contrast* contrast = HeadlineContrast(run);
  std::string text;
  double mde = run.mde;
  if (contrast != nullptr) {
    mde = contrast->overall.mde;
    const Estimate& speedup = contrast->overall.speedup;
    text = fmt::format("{} vs {}: {}; geomean {}", contrast->variant, contrast->baseline,
                       Tally(contrast->counts),
                       FineRatioWithInterval(speedup.value, speedup.low, speedup.high, "x"));
  } else {
    text = fmt::format("{}: no other variant measured", run.baseline);
  }
  text += fmt::format("; {}/{} correct", run.gates_passed, run.gates_total);
  if (run.bitwise_all && run.gates_total > 0) text += ", bitwise";
  const std::string null = std::isfinite(run.null.value)
                               ? FineRatioWithInterval(run.null.value, run.null.low, run.null.high, "x")
                               : "none";
  return text + fmt::format("; null {}; MDE {}", null, Percent(mde));
}

}  // namespace pagoda::judge
