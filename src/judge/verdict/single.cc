#include "judge/verdict/single.h"

#include <algorithm>
#include <optional>

namespace pagoda::judge {
namespace {

// The launch without the other variants, or nothing where one of them ended it.
template <typename IsOther>
std::optional<LaunchRecord> Without(const LaunchRecord& launch, const IsOther& is_other) {
  LaunchRecord kept = launch;
  std::erase_if(kept.arms, [&](const ArmSamples& arm) { return is_other(arm.variant); });
  std::erase_if(kept.checks, [&](const ArmCheck& check) { return is_other(check.variant); });
  if (launch.culprit.empty() || !is_other(launch.culprit)) return kept;
  if (launch.status != LaunchStatus::kGateFailed) return std::nullopt;
  const auto failed = std::find_if(kept.checks.begin(), kept.checks.end(),
                                   [](const ArmCheck& check) { return !check.passed; });
  const bool fine = failed == kept.checks.end();
  kept.status = fine ? LaunchStatus::kOk : LaunchStatus::kGateFailed;
  kept.culprit = fine ? "" : failed->variant;
  if (fine) kept.reason.clear();
  return kept;
}

}  // namespace

SingleRun OnlyContrast(const Manifest& manifest, const Records& records, std::string_view case_name,
                       std::string_view variant) {
  const auto is_other = [&](std::string_view name) { return name != variant && name != manifest.baseline; };
  SingleRun single{.manifest = manifest, .records = {}};
  std::erase_if(single.manifest.cases, [&](const ManifestCase& c) { return c.name != case_name; });
  single.manifest.sweeps.clear();  // a single case is none
  std::erase_if(single.manifest.variants, is_other);
  std::erase_if(single.manifest.unsupported,
                [&](const Unsupported& u) { return u.case_name != case_name || is_other(u.variant); });
  for (const GateRecord& gate : records.gates) {
    if (gate.case_name == case_name && !is_other(gate.variant)) single.records.gates.push_back(gate);
  }
  for (const LaunchRecord& launch : records.launches) {
    if (launch.case_name != case_name) continue;
    if (auto kept = Without(launch, is_other)) single.records.launches.push_back(std::move(*kept));
  }
  return single;
}

}  // namespace pagoda::judge
