#include "judge/verdict/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "judge/stats/launch_value.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

[[noreturn]] void Refuse(const std::string& field, const std::string& complaint) {
  throw Error(ErrorCode::kInvalidArgument, field, complaint);
}

void RequireManifest(const Manifest& manifest) {
  if (manifest.cases.empty()) Refuse("manifest.cases", "is empty: there is nothing to judge");
  if (manifest.variants.empty()) Refuse("manifest.variants", "is empty: there is nothing to judge");
  const std::set<std::string> variants(manifest.variants.begin(), manifest.variants.end());
  if (variants.size() != manifest.variants.size()) Refuse("manifest.variants", "names a variant twice");
  if (!variants.contains(manifest.baseline)) {
    Refuse("manifest.baseline", fmt::format("= \"{}\" is not among manifest.variants", manifest.baseline));
  }
  if (manifest.launches < 1) {
    Refuse("manifest.launches", fmt::format("= {} is below 1", manifest.launches));
  }
  if (!(manifest.delta > 0 && manifest.delta < 1)) {
    Refuse("manifest.delta", fmt::format("= {} is outside 0..1", manifest.delta));
  }
  std::set<std::string> names;
  double weight = 0;
  for (size_t i = 0; i < manifest.cases.size(); ++i) {
    const ManifestCase& item = manifest.cases[i];
    if (!names.insert(item.name).second) {
      Refuse(fmt::format("manifest.cases[{}].name", i),
             fmt::format("= \"{}\" stands there twice", item.name));
    }
    if (!(item.weight >= 0) || std::isinf(item.weight)) {
      Refuse(fmt::format("manifest.cases[{}].weight", i), fmt::format("= {} is not a weight", item.weight));
    }
    weight += item.weight;
  }
  if (!(weight > 0)) Refuse("manifest.cases", "have weight 0 all together: give one at least a weight");
  for (size_t i = 0; i < manifest.sweeps.size(); ++i) {
    for (const SweepPoint& point : manifest.sweeps[i].points) {
      if (!names.contains(point.case_name)) {
        Refuse(fmt::format("manifest.sweeps[{}]", i),
               fmt::format("has a point at \"{}\", which is not among manifest.cases", point.case_name));
      }
    }
  }
}

// Where the i-th record of a list stands: the file and its line, or the list where it was read from no file.
template <typename Record>
std::string PlaceOf(const Record& record, std::string_view list, size_t i) {
  return record.place.empty() ? fmt::format("records.{}[{}]", list, i) : record.place;
}
template <typename Record>
std::string FieldPrefix(const Record& record, std::string_view list, size_t i) {
  return PlaceOf(record, list, i) + (record.place.empty() ? "." : ": ");
}

// What was there before, so that a record that stands in the file twice doesn't count twice.
template <typename Key>
class Seen {
 public:
  void RequireNew(const Key& key, const std::string& place) {
    const auto [first, fresh] = places_.try_emplace(key, place);
    if (!fresh) Refuse(place, fmt::format("repeats {}; leave one of the two away", first->second));
  }

 private:
  std::map<Key, std::string> places_;
};

// Indices of cases by name, and the checks that every record needs.
class CaseIndex {
 public:
  explicit CaseIndex(const Manifest& manifest) : manifest_(manifest) {
    for (size_t i = 0; i < manifest.cases.size(); ++i) index_.emplace(manifest.cases[i].name, i);
  }

  size_t Of(const std::string& case_name, const std::string& field) const {
    const auto found = index_.find(case_name);
    if (found == index_.end()) {
      Refuse(field + "case", fmt::format("= \"{}\" is not in the manifest", case_name));
    }
    return found->second;
  }

  void RequireVariant(const std::string& variant, const std::string& field) const {
    if (std::find(manifest_.variants.begin(), manifest_.variants.end(), variant) ==
        manifest_.variants.end()) {
      Refuse(field, fmt::format("= \"{}\" is not among manifest.variants", variant));
    }
  }
  // Of a record that only a variant which supports the case can have.
  void RequireSupported(const CaseRecords& place, const std::string& variant,
                        const std::string& field) const {
    RequireVariant(variant, field);
    if (place.unsupported.contains(variant)) {
      Refuse(field, fmt::format("= \"{}\", which manifest.unsupported says doesn't support {}", variant,
                                place.facts->name));
    }
  }

  void RequireRun(const std::string& run_id, const std::string& field) const {
    if (run_id != manifest_.run_id) {
      Refuse(field + "run_id",
             fmt::format("= \"{}\" is another run than the manifest's \"{}\"", run_id, manifest_.run_id));
    }
  }

 private:
  const Manifest& manifest_;
  std::map<std::string, size_t, std::less<>> index_;
};

// Whether every name and setting of a launch is one of the run that the manifest defines.
void RequireOfRun(const CaseIndex& index, const Manifest& manifest, const LaunchRecord& launch,
                  const CaseRecords& place, const std::string& field) {
  if (launch.launch < 0 || launch.launch >= manifest.launches) {
    Refuse(field + "launch",
           fmt::format("= {} is outside 0..{} of the manifest", launch.launch, manifest.launches - 1));
  }
  if (launch.cache != place.facts->cache) {
    Refuse(field + "cache",
           fmt::format("= \"{}\", but the manifest's case is {}", launch.cache, place.facts->cache));
  }
  if (launch.threads != manifest.threads) {
    Refuse(field + "threads", fmt::format("= {}, but {} in the manifest", launch.threads, manifest.threads));
  }
  std::set<std::pair<std::string, int>> arms;
  for (size_t i = 0; i < launch.arms.size(); ++i) {
    const ArmSamples& arm = launch.arms[i];
    const std::string name = fmt::format("{}arms[{}]", field, i);
    index.RequireSupported(place, arm.variant, name + ".variant");
    if (!arms.emplace(arm.variant, arm.link).second) Refuse(name, "stands in the launch twice");
    if (arm.link != 0 && arm.variant != manifest.baseline) {
      Refuse(name + ".link", "= 1: only the baseline has a null arm");
    }
  }
  for (size_t i = 0; i < launch.checks.size(); ++i) {
    index.RequireVariant(launch.checks[i].variant, fmt::format("{}checks[{}].variant", field, i));
  }
  if (!launch.culprit.empty()) index.RequireVariant(launch.culprit, field + "culprit");
}

void Fail(CaseRecords& records, const std::string& variant, Reason reason, std::string why) {
  const auto [place, fresh] = records.failures.try_emplace(variant, Failure{reason, why});
  if (!fresh && reason < place->second.reason) place->second = {reason, std::move(why)};
}

Reason ReasonOf(LaunchStatus status) {
  if (status == LaunchStatus::kHung) return Reason::kHung;
  if (status == LaunchStatus::kCrashed) return Reason::kCrashed;
  return Reason::kTimedOutputWrong;
}

void NoteFailures(const Manifest& manifest, const LaunchRecord& launch, CaseRecords& records) {
  for (const ArmCheck& check : launch.checks) {
    if (check.passed) {
      ++records.passed_checks[check.variant];
    } else {
      Fail(records, check.variant, Reason::kTimedOutputWrong,
           fmt::format("launch {}: {}", launch.launch, check.fault));
    }
  }
  if (launch.status == LaunchStatus::kOk || launch.status == LaunchStatus::kContaminated) return;
  const std::string why = fmt::format("launch {}: {}", launch.launch, launch.reason);
  if (!launch.culprit.empty()) {
    Fail(records, launch.culprit, ReasonOf(launch.status), why);
    return;
  }
  // A failed check names its arm; a launch that died without a word could be any variant's doing.
  const bool named = std::any_of(launch.checks.begin(), launch.checks.end(),
                                 [](const ArmCheck& check) { return !check.passed; });
  if (named) return;
  for (const std::string& variant : manifest.variants) Fail(records, variant, ReasonOf(launch.status), why);
}

bool TimedWhole(const LaunchRecord& launch) {
  return launch.status == LaunchStatus::kOk || launch.status == LaunchStatus::kGateFailed;
}

void SortLaunches(const std::map<int, std::vector<const LaunchRecord*>>& attempts, int planned,
                  CaseRecords& records) {
  for (int number = 0; number < planned; ++number) {
    const auto found = attempts.find(number);
    if (found == attempts.end()) {
      ++records.never_run;
      continue;
    }
    std::vector<const LaunchRecord*> sorted = found->second;
    std::sort(sorted.begin(), sorted.end(),
              [](const LaunchRecord* a, const LaunchRecord* b) { return a->attempt < b->attempt; });
    const auto usable =
        std::find_if(sorted.begin(), sorted.end(), [](const LaunchRecord* x) { return TimedWhole(*x); });
    if (usable != sorted.end()) {
      records.usable.push_back(*usable);
      records.rerun += static_cast<int>(std::count_if(sorted.begin(), usable, [](const LaunchRecord* x) {
        return x->status == LaunchStatus::kContaminated;
      }));
    } else if (std::all_of(sorted.begin(), sorted.end(),
                           [](const LaunchRecord* x) { return x->status == LaunchStatus::kContaminated; })) {
      ++records.left_out;
    } else {
      ++records.failed;
    }
  }
}

double MedianEpoch(const LaunchRecord& launch, const ArmSamples& arm, Clock clock) {
  return Median(TimesOf(arm, clock)) * static_cast<double>(launch.calls_per_epoch);
}

}  // namespace

std::vector<CaseRecords> SortRecords(const Manifest& manifest, const Records& records) {
  RequireManifest(manifest);
  const CaseIndex index(manifest);
  std::vector<CaseRecords> sorted(manifest.cases.size());
  for (size_t i = 0; i < sorted.size(); ++i) sorted[i].facts = &manifest.cases[i];
  for (size_t i = 0; i < manifest.unsupported.size(); ++i) {
    const Unsupported& skip = manifest.unsupported[i];
    const std::string field = fmt::format("manifest.unsupported[{}].", i);
    const size_t place = index.Of(skip.case_name, field);
    index.RequireVariant(skip.variant, field + "variant");
    sorted[place].unsupported[skip.variant] = skip.reason;
  }
  Seen<std::tuple<std::string, std::string, uint64_t>> gates;
  for (size_t i = 0; i < records.gates.size(); ++i) {
    const GateRecord& gate = records.gates[i];
    const std::string field = FieldPrefix(gate, "gates", i);
    index.RequireRun(gate.run_id, field);
    CaseRecords& place = sorted[index.Of(gate.case_name, field)];
    index.RequireSupported(place, gate.variant, field + "variant");
    gates.RequireNew({gate.case_name, gate.variant, gate.seed}, PlaceOf(gate, "gates", i));
    if (gate.passed) {
      ++place.passed_checks[gate.variant];
    } else {
      Fail(place, gate.variant, Reason::kGateFailed, fmt::format("seed {}: {}", gate.seed, gate.fault));
    }
  }
  std::vector<std::map<int, std::vector<const LaunchRecord*>>> attempts(sorted.size());
  Seen<std::tuple<std::string, int, int>> launches;
  for (size_t i = 0; i < records.launches.size(); ++i) {
    const LaunchRecord& launch = records.launches[i];
    const std::string field = FieldPrefix(launch, "launches", i);
    index.RequireRun(launch.run_id, field);
    const size_t place = index.Of(launch.case_name, field);
    RequireOfRun(index, manifest, launch, sorted[place], field);
    launches.RequireNew({launch.case_name, launch.launch, launch.attempt}, PlaceOf(launch, "launches", i));
    NoteFailures(manifest, launch, sorted[place]);
    attempts[place][launch.launch].push_back(&launch);
  }
  for (size_t i = 0; i < sorted.size(); ++i) SortLaunches(attempts[i], manifest.launches, sorted[i]);
  return sorted;
}

const ArmSamples* FindArm(const LaunchRecord& launch, std::string_view variant, int link) {
  for (const ArmSamples& arm : launch.arms) {
    if (arm.variant == variant && arm.link == link) {
      const auto passes = static_cast<size_t>(std::max(0, launch.blocks)) * 2;
      const bool whole = passes > 0 && arm.device_ns.size() == passes && arm.host_ns.size() == passes;
      return whole ? &arm : nullptr;
    }
  }
  return nullptr;
}

const std::vector<double>& TimesOf(const ArmSamples& arm, Clock clock) {
  return clock == Clock::kDevice ? arm.device_ns : arm.host_ns;
}

ContrastSample SampleOf(const CaseRecords& records, std::string_view variant, std::string_view baseline,
                        std::string_view null_variant, Clock clock) {
  const bool with_null =
      std::any_of(records.usable.begin(), records.usable.end(),
                  [&](const LaunchRecord* x) { return FindArm(*x, null_variant, 1) != nullptr; });
  ContrastSample sample;
  for (const LaunchRecord* launch : records.usable) {
    const ArmSamples* arm = FindArm(*launch, variant, 0);
    const ArmSamples* base = FindArm(*launch, baseline, 0);
    const ArmSamples* first = FindArm(*launch, null_variant, 0);
    const ArmSamples* second = FindArm(*launch, null_variant, 1);
    if (arm == nullptr || base == nullptr) continue;
    if (with_null && (first == nullptr || second == nullptr)) continue;
    const LaunchValue value = ReduceLaunch(TimesOf(*arm, clock), TimesOf(*base, clock));
    sample.typical.push_back(value.typical);
    sample.floor.push_back(value.floor);
    if (!with_null) continue;
    const LaunchValue null = ReduceLaunch(TimesOf(*second, clock), TimesOf(*first, clock));
    sample.null_typical.push_back(null.typical);
    sample.null_floor.push_back(null.floor);
  }
  return sample;
}

double CoarsenessOf(const CaseRecords& records, std::string_view variant, std::string_view baseline,
                    Clock clock) {
  double coarsest = 0;
  for (const LaunchRecord* launch : records.usable) {
    for (const std::string_view name : {variant, baseline}) {
      const ArmSamples* arm = FindArm(*launch, name, 0);
      if (arm == nullptr) continue;
      coarsest = std::max(coarsest, launch->clock_resolution_ns / MedianEpoch(*launch, *arm, clock));
    }
  }
  return coarsest;
}

ContrastSample WeightedMean(const std::vector<ContrastSample>& samples, const std::vector<double>& weights) {
  ContrastSample mean;
  double total = 0;
  size_t launches = samples.empty() ? 0 : samples.front().typical.size();
  bool with_null = true;
  for (size_t c = 0; c < samples.size(); ++c) {
    total += weights[c];
    launches = std::min(launches, samples[c].typical.size());
    with_null = with_null && !samples[c].null_typical.empty();
  }
  if (!(total > 0)) return mean;
  const auto mix = [&](std::vector<double> ContrastSample::* values) {
    std::vector<double> mixed(launches, 0.0);
    for (size_t c = 0; c < samples.size(); ++c) {
      for (size_t i = 0; i < launches; ++i) mixed[i] += weights[c] / total * (samples[c].*values)[i];
    }
    return mixed;
  };
  mean.typical = mix(&ContrastSample::typical);
  mean.floor = mix(&ContrastSample::floor);
  if (with_null) {
    mean.null_typical = mix(&ContrastSample::null_typical);
    mean.null_floor = mix(&ContrastSample::null_floor);
  }
  return mean;
}

}  // namespace pagoda::judge
