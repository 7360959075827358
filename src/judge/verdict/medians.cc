#include "judge/verdict/medians.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>

#include "judge/verdict/samples.h"

namespace pagoda::judge {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The median of each case, NaN where the variant wasn't timed or was wrong.
std::vector<double> MediansOf(const std::string& variant, const std::vector<CaseRecords>& sorted,
                              const std::vector<Figures>& figures) {
  std::vector<double> medians(sorted.size(), kNaN);
  for (size_t c = 0; c < sorted.size(); ++c) {
    if (sorted[c].failures.contains(variant)) continue;
    const auto found = std::find_if(figures.begin(), figures.end(), [&](const Figures& f) {
      return f.variant == variant && f.case_name == sorted[c].facts->name;
    });
    if (found != figures.end()) medians[c] = found->device_us;
  }
  return medians;
}

double GeometricMean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace

Medians AggregateMedians(const Manifest& manifest, const std::vector<CaseRecords>& sorted,
                         const std::vector<Figures>& figures) {
  std::vector<std::string> names = {manifest.baseline};
  std::copy_if(manifest.variants.begin(), manifest.variants.end(), std::back_inserter(names),
               [&](const std::string& variant) { return variant != manifest.baseline; });
  std::vector<std::pair<std::string, std::vector<double>>> timed;
  for (const std::string& variant : names) {
    std::vector<double> medians = MediansOf(variant, sorted, figures);
    if (std::any_of(medians.begin(), medians.end(), [](double m) { return std::isfinite(m); }))
      timed.emplace_back(variant, std::move(medians));
  }
  if (timed.empty() || timed.front().first != manifest.baseline) return {};
  for (size_t c = sorted.size(); c-- > 0;) {
    const bool all =
        std::all_of(timed.begin(), timed.end(), [&](const auto& of) { return std::isfinite(of.second[c]); });
    if (all) continue;
    for (auto& [variant, medians] : timed) medians.erase(medians.begin() + static_cast<std::ptrdiff_t>(c));
  }
  const std::vector<double>& baseline = timed.front().second;
  if (baseline.empty()) return {};
  Medians result{.cases = static_cast<int>(baseline.size()), .variants = {}};
  for (const auto& [variant, medians] : timed) {
    std::vector<double> ratios(baseline.size());
    std::transform(baseline.begin(), baseline.end(), medians.begin(), ratios.begin(), std::divides<>());
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    result.variants.push_back({.variant = variant,
                               .geomean_us = GeometricMean(medians),
                               .ratio = GeometricMean(ratios),
                               .least = *least,
                               .most = *most});
  }
  return result;
}

}  // namespace pagoda::judge
