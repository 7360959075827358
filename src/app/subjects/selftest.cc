#include "app/subjects/selftest.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/subjects/planted_faults.h"

namespace pagoda::app {
namespace {

constexpr std::string_view kWrong = "wrong_";
// Of K/V that one call reads: some microseconds, so that one call more in two hundred fits an epoch.
constexpr double kMostBytesToSlow = 256 * 1024;

const PlantedArm* FindArm(std::string_view name) {
  const std::vector<PlantedArm>& arms = PlantedArms();
  const auto found =
      std::find_if(arms.begin(), arms.end(), [&](const PlantedArm& a) { return a.name == name; });
  return found == arms.end() ? nullptr : &*found;
}

std::optional<PlantedFault> FindFault(std::string_view variant) {
  for (const PlantedFault fault : PlantedFaults()) {
    if (variant == std::string(kWrong) + NameOf(fault)) return fault;
  }
  return std::nullopt;
}

}  // namespace

const std::vector<PlantedArm>& PlantedArms() {
  static const std::vector<PlantedArm> arms = {
      {"same_pointer", 0, 0, "the same function of the same library"},
      {"other_link", 2, 0, "the same code in a third link, which the null arm doesn't know"},
      {"slower_0.5%", 0, 0.005, "one call more in 200"},
      {"slower_1%", 0, 0.01, "one call more in 100"},
      {"slower_2%", 0, 0.02, "one call more in 50"},
      {"slower_3%", 0, 0.03, "three calls more in 100"},
      {"slower_5%", 0, 0.05, "one call more in 20"},
  };
  return arms;
}

std::vector<std::string> WrongVariants() {
  std::vector<std::string> names;
  for (const PlantedFault fault : PlantedFaults()) names.push_back(std::string(kWrong) + NameOf(fault));
  return names;
}

SelftestSubject::SelftestSubject(std::string variant)
    : variant_(std::move(variant)), own_(*pagoda_kernel_library()) {}

std::vector<std::string> SelftestSubject::Variants() const {
  std::vector<std::string> names = {variant_};
  for (const PlantedArm& arm : PlantedArms()) names.push_back(arm.name);
  return names;
}

bool SelftestSubject::Has(std::string_view variant) const {
  return Subject::Has(variant) || FindFault(variant).has_value();
}

std::optional<std::string> SelftestSubject::WhyNot(const judge::CaseSpec& spec,
                                                   std::string_view variant) const {
  if (const auto fault = FindFault(variant)) {
    if (!Applies(*fault, spec)) return "the fault changes nothing here";
    return std::nullopt;
  }
  const PlantedArm* arm = FindArm(variant);
  if (arm != nullptr && arm->slower > 0 && softmax_.Facts(spec).bytes > kMostBytesToSlow) {
    return "a slowdown is planted by whole calls, and here an epoch has too few";
  }
  return softmax_.WhyNot(spec, variant_);
}

judge::CaseFacts SelftestSubject::Facts(const judge::CaseSpec& spec) const { return softmax_.Facts(spec); }

judge::GateResult SelftestSubject::Gate(const judge::CaseSpec& spec, std::string_view variant, uint64_t seed,
                                        int threads) {
  judge::GateResult result;
  if (const auto fault = FindFault(variant)) {
    result = softmax_.Gate(spec, own_, VariantWith(*fault), seed, threads);
  } else {
    const PlantedArm* arm = FindArm(variant);
    const int link = arm == nullptr ? 0 : arm->link;
    const bool known = link == 0 && passed_.passed && passed_.case_name == spec.name && passed_.seed == seed;
    result = known ? passed_ : softmax_.Gate(spec, variant_, link, seed, threads);
    if (link == 0) passed_ = result;
  }
  result.variant = variant;
  return result;
}

std::vector<std::unique_ptr<judge::Arm>> SelftestSubject::Prepare(const judge::CaseSpec& spec,
                                                                  const judge::PrepareOptions& options) {
  judge::PrepareOptions plain = options;
  for (judge::ArmId& id : plain.arms) {
    if (const PlantedArm* arm = FindArm(id.variant)) id = {variant_, arm->link};
  }
  std::vector<std::unique_ptr<judge::Arm>> arms = softmax_.Prepare(spec, plain);
  for (size_t i = 0; i < arms.size(); ++i) {
    const PlantedArm* arm = FindArm(options.arms[i].variant);
    if (arm != nullptr && arm->slower > 0) {
      arms[i] = std::make_unique<SlowedArm>(std::move(arms[i]), arm->slower);
    }
  }
  return arms;
}

SlowedArm::SlowedArm(std::unique_ptr<judge::Arm> inner, double share)
    : inner_(std::move(inner)), share_(share) {}

judge::EpochTime SlowedArm::Run(int64_t calls) {
  owed_ += static_cast<double>(calls) * share_;
  const double extra = std::floor(owed_);
  owed_ -= extra;
  return inner_->Run(calls + static_cast<int64_t>(extra));
}

judge::CheckResult SlowedArm::CheckTimedOutput() { return inner_->CheckTimedOutput(); }

}  // namespace pagoda::app
