#include "judge/report/replay.h"

#include <algorithm>
#include <charconv>

namespace pagoda::judge {
namespace {

template <typename Item, typename Matches>
const Item* Find(const std::vector<Item>& items, Matches matches) {
  const auto at = std::find_if(items.begin(), items.end(), matches);
  return at == items.end() ? nullptr : &*at;
}

std::string Letters(size_t index) {
  std::string letters;
  for (++index; index > 0; index = (index - 1) / 26) {
    letters.insert(letters.begin(), static_cast<char>('A' + (index - 1) % 26));
  }
  return letters;
}

void Include(Conditions& all, const EnvironmentSample& sample) {
  all.most_load = std::max(all.most_load, sample.load);
  all.most_mhz = std::max(all.most_mhz, sample.frequency_mhz);
  if (sample.frequency_mhz > 0) {
    all.least_mhz = all.least_mhz > 0 ? std::min(all.least_mhz, sample.frequency_mhz) : sample.frequency_mhz;
  }
  all.hottest_c = std::max(all.hottest_c, sample.temperature_c);
}

void Include(Conditions& all, const LaunchRecord& launch) {
  const bool first = all.good++ == 0;
  Include(all, launch.before);
  Include(all, launch.after);
  // Shares of a span: what the first reading looks back on is a few milliseconds, less than the kernel counts
  // in.
  all.most_steal = std::max(all.most_steal, launch.after.steal);
  all.most_other_busy = std::max(all.most_other_busy, launch.after.other_busy);
  all.most_switches = std::max(all.most_switches, launch.after.involuntary_switches);
  if (launch.before.throttle_events >= 0 && launch.after.throttle_events >= launch.before.throttle_events) {
    all.throttle_events = std::max<int64_t>(all.throttle_events, 0) + launch.after.throttle_events -
                          launch.before.throttle_events;
  }
  all.clock_resolution_ns = std::max(all.clock_resolution_ns, launch.clock_resolution_ns);
  all.least_blocks = first ? launch.blocks : std::min(all.least_blocks, launch.blocks);
  all.most_blocks = std::max(all.most_blocks, launch.blocks);
  all.least_calls = first ? launch.calls_per_epoch : std::min(all.least_calls, launch.calls_per_epoch);
  all.most_calls = std::max(all.most_calls, launch.calls_per_epoch);
  all.null_arm = all.null_arm || std::any_of(launch.arms.begin(), launch.arms.end(),
                                             [](const ArmSamples& arm) { return arm.link == 1; });
}

}  // namespace

std::vector<std::string> VariantsByLabel(const Manifest& manifest) {
  std::vector<std::string> variants = {manifest.baseline};
  for (const std::string& variant : manifest.variants) {
    if (variant != manifest.baseline) variants.push_back(variant);
  }
  return variants;
}

std::string LabelOf(const Manifest& manifest, std::string_view variant) {
  const std::vector<std::string> variants = VariantsByLabel(manifest);
  const auto at = std::find(variants.begin(), variants.end(), variant);
  return at == variants.end() ? "-" : Letters(static_cast<size_t>(at - variants.begin()));
}

const Figures* FindFigures(const RunVerdict& run, std::string_view case_name, std::string_view variant) {
  return Find(run.figures,
              [&](const Figures& f) { return f.case_name == case_name && f.variant == variant; });
}

const Contrast* FindContrast(const RunVerdict& run, std::string_view variant) {
  return Find(run.contrasts, [&](const Contrast& c) { return c.variant == variant; });
}

const CaseVerdict* FindCase(const Contrast& contrast, std::string_view case_name) {
  return Find(contrast.cases, [&](const CaseVerdict& c) { return c.case_name == case_name; });
}

const CaseRanking* FindRanking(const RunVerdict& run, std::string_view case_name) {
  return Find(run.cases, [&](const CaseRanking& c) { return c.case_name == case_name; });
}

const ManifestCase* FindManifestCase(const Manifest& manifest, std::string_view case_name) {
  return Find(manifest.cases, [&](const ManifestCase& c) { return c.name == case_name; });
}

std::vector<GateTally> GateTallies(const Records& records) {
  std::vector<GateTally> tallies;
  for (const GateRecord& gate : records.gates) {
    auto tally = std::find_if(tallies.begin(), tallies.end(),
                              [&](const GateTally& t) { return t.variant == gate.variant; });
    if (tally == tallies.end()) tally = tallies.insert(tally, {.variant = gate.variant, .same_bits_as = {}});
    ++tally->total;
    tally->passed += gate.passed ? 1 : 0;
    if (gate.same_bits_as.empty()) continue;
    tally->same_bits_as = gate.same_bits_as;
    ++tally->same_bits;
  }
  return tallies;
}

int64_t CountSetting(const Manifest& manifest, const std::string& name) {
  int64_t count = 0;
  const auto found = manifest.settings.find(name);
  if (found == manifest.settings.end()) return count;
  const std::string& text = found->second;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

Conditions ConditionsOf(const Records& records) {
  Conditions all;
  for (const LaunchRecord& launch : records.launches) {
    ++all.launches;
    all.elapsed_s += launch.elapsed_s;
    if (launch.status == LaunchStatus::kOk) Include(all, launch);
  }
  return all;
}

}  // namespace pagoda::judge
