// Attention, softmax and HSTU, as what the judge measures.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "app/subjects/gate.h"
#include "app/subjects/kernel_library.h"
#include "app/subjects/program_variant.h"
#include "judge/bench/subject.h"

namespace pagoda::app {

// The reason why `variant` does not compute a case of its operator, or nothing.
std::optional<std::string> WhyNot(const judge::CaseSpec& spec, const SoftmaxVariant& variant);

class AttentionSubject : public judge::Subject {
 public:
  // Loads a library and starts a program when an arm, a gate or a question first needs it. Questions about
  // variants of other libraries (outside.h) go to processes that `ask` starts, or are answered in this
  // process where it is empty.
  explicit AttentionSubject(std::vector<ProgramCommand> programs = {}, std::vector<std::string> ask = {});

  std::vector<std::string> Variants() const override;
  std::vector<std::string> VariantsOf(judge::CaseOp op) const override;
  bool Has(std::string_view variant) const override;
  bool Chooses(std::string_view variant) const override;
  std::optional<std::string> WhyNot(const judge::CaseSpec& spec, std::string_view variant) const override;
  judge::CaseFacts Facts(const judge::CaseSpec& spec) const override;
  judge::GateResult Gate(const judge::CaseSpec& spec, std::string_view variant, uint64_t seed,
                         int threads) override;
  // The same of a link of the variant's library, and of a softmax variant that has no name here.
  judge::GateResult Gate(const judge::CaseSpec& spec, std::string_view variant, int link, uint64_t seed,
                         int threads);
  judge::GateResult Gate(const judge::CaseSpec& spec, Kernels& kernels, const SoftmaxVariant& variant,
                         uint64_t seed, int threads);
  std::vector<std::unique_ptr<judge::Arm>> Prepare(const judge::CaseSpec& spec,
                                                   const judge::PrepareOptions& options) override;

  // What the program says of itself, which starts it. Throws Error(--program NAME) when it doesn't answer
  // right.
  std::string AboutProgram(const std::string& name) const;
  // Ends the programs; whatever needs one starts it again.
  void StopPrograms() { running_.clear(); }

 private:
  // A variant in one link of its library.
  template <typename Batch>
  struct Place {
    Kernels& kernels;
    const typename OperatorOf<Batch>::Variant& variant;
    ProgramVariant* program = nullptr;  // where it is one
  };
  template <typename Batch>
  Place<Batch> Find(std::string_view variant, int link) const;
  template <typename Batch>
  judge::GateResult GateOf(const judge::CaseSpec& spec, const Place<Batch>& place, uint64_t seed,
                           int threads);
  template <typename Batch>
  std::vector<std::unique_ptr<judge::Arm>> PrepareOf(const judge::CaseSpec& spec,
                                                     const judge::PrepareOptions& options);
  Kernels& Library(const std::filesystem::path& outside, int link) const;
  // Both null where the variant is no program.
  const ProgramCommand* CommandOf(std::string_view variant) const;
  ProgramVariant* Running(std::string_view variant, int link) const;

  std::vector<ProgramCommand> programs_;
  std::vector<std::string> ask_;
  mutable std::set<std::string, std::less<>> hung_;  // when they were asked
  // By path, empty for the program's own library, and link.
  mutable std::map<std::pair<std::filesystem::path, int>, std::shared_ptr<Kernels>> libraries_;
  // By name and link: another link is another process.
  mutable std::map<std::pair<std::string, int>, std::unique_ptr<ProgramVariant>> running_;
  // Inputs and reference of the gate run before: the next is often another variant on the same.
  template <typename Batch>
  using Last = std::unique_ptr<GateCaseOf<Batch>>;
  std::tuple<Last<SoftmaxBatch>, Last<HstuBatch>> last_;
};

}  // namespace pagoda::app
