// Softmax attention with arms whose verdict is known beforehand: what the bench is tested with.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/subjects/attention_subject.h"
#include "judge/bench/subject.h"

namespace pagoda::app {

// What an arm of the self-test is beside the variant under test.
struct PlantedArm {
  std::string name;
  int link = 0;           // of the kernel library that the variant is taken from
  double slower = 0;      // share of its calls that it makes once more, unseen: 0.01 is 1%
  std::string_view what;  // for people
};

// In the order of the report: two that are the same code, then slowdowns from the smallest on.
const std::vector<PlantedArm>& PlantedArms();

// Wrong variants, by the name that they have here: one for each of planted_faults.h.
std::vector<std::string> WrongVariants();

// The planted arms beside `variant` of the program's own library, and the wrong variants.
class SelftestSubject : public judge::Subject {
 public:
  explicit SelftestSubject(std::string variant);

  // `variant`, then the planted arms.
  std::vector<std::string> Variants() const override;
  bool Has(std::string_view variant) const override;
  // A slowdown is planted by whole calls, so an epoch must hold some hundreds of them.
  std::optional<std::string> WhyNot(const judge::CaseSpec& spec, std::string_view variant) const override;
  judge::CaseFacts Facts(const judge::CaseSpec& spec) const override;
  // Arms that are the same code as one before share its result.
  judge::GateResult Gate(const judge::CaseSpec& spec, std::string_view variant, uint64_t seed,
                         int threads) override;
  std::vector<std::unique_ptr<judge::Arm>> Prepare(const judge::CaseSpec& spec,
                                                   const judge::PrepareOptions& options) override;

 private:
  std::string variant_;
  AttentionSubject softmax_;
  Kernels own_;               // what the wrong variants are made of
  judge::GateResult passed_;  // of the last gate run on link 0
};

// An arm that makes each 1/share-th call twice and says nothing of it.
class SlowedArm : public judge::Arm {
 public:
  SlowedArm(std::unique_ptr<judge::Arm> inner, double share);
  judge::EpochTime Run(int64_t calls) override;
  judge::CheckResult CheckTimedOutput() override;

 private:
  std::unique_ptr<judge::Arm> inner_;
  double share_;
  double owed_ = 0;  // calls
};

}  // namespace pagoda::app
