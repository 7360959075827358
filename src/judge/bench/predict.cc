#include "judge/bench/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "judge/bench/case_name.h"

namespace pagoda::judge {
namespace {

// The first `batch` sequences of a case. A name by the grammar follows; another gets a suffix.
CaseSpec FirstSequences(const CaseSpec& spec, int64_t batch) {
  CaseSpec part = spec;
  part.contexts.resize(batch);
  part.queries.resize(batch);
  part.name = spec.name == CaseName(spec) ? CaseName(part) : fmt::format("{}_b{}", spec.name, batch);
  return part;
}

// The case at half the batch it has in the setup; nothing where that is too small, or a case already.
std::optional<CaseSpec> Halved(const RunSetup& setup, size_t i, const CaseSpec& whole) {
  const int64_t batch = std::ssize(setup.cases[i].contexts) / 2;
  if (whole.least_batch == 0 || batch < whole.least_batch) return std::nullopt;
  CaseSpec half = FirstSequences(whole, batch);
  const bool taken = std::any_of(setup.cases.begin(), setup.cases.end(),
                                 [&](const CaseSpec& c) { return c.name == half.name; });
  return taken ? std::nullopt : std::optional(std::move(half));
}

}  // namespace

Prediction Predict(const RunSetup& setup, int launches, double budget_s) {
  const int wanted = LaunchesToRun(setup, launches);
  const ProtocolOptions whole = setup.Protocol(wanted);
  Prediction prediction;
  for (const CaseFacts& facts : setup.facts) {
    prediction.costs.push_back(RooflineCost(facts, setup.variants.size() + 1, NominalMachine(), whole));
  }
  prediction.schedule = FitBudget(prediction.costs, wanted, FewestLaunches(setup), whole, budget_s);
  return prediction;
}

void CutBatches(RunSetup& setup, const Subject& subject, int launches, double budget_s) {
  const std::vector<CaseSpec> whole = setup.cases;
  for (;;) {
    const Prediction prediction = Predict(setup, launches, budget_s);
    if (prediction.schedule.fits) break;
    double longest_s = 0;
    size_t at = 0;
    std::optional<CaseSpec> cut;
    for (size_t i = 0; i < whole.size(); ++i) {
      const double seconds = LaunchSeconds(prediction.costs[i], prediction.schedule.protocol);
      if (seconds <= longest_s) continue;
      if (auto half = Halved(setup, i, whole[i])) {
        longest_s = seconds;
        at = i;
        cut = std::move(half);
      }
    }
    if (!cut) break;
    setup.cases[at] = *std::move(cut);
    setup.facts[at] = subject.Facts(setup.cases[at]);
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    if (setup.cases[i].name == whole[i].name) continue;
    setup.left_out.push_back(fmt::format("{} at batch {}: cut to {} to fit the budget of {}", whole[i].name,
                                         whole[i].contexts.size(), setup.cases[i].contexts.size(),
                                         DurationText(budget_s)));
  }
  if (!setup.left_out.empty()) DescribeCases(setup, subject);
}

}  // namespace pagoda::judge
