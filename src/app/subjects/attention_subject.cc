#include "app/subjects/attention_subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/subjects/case_facts.h"
#include "app/subjects/fault.h"
#include "app/subjects/outside.h"
#include "app/subjects/program_arm.h"
#include "app/subjects/variant_arm.h"
#include "base/random.h"
#include "base/sys/affinity.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

// What a case's inputs and reference depend on.
bool SameProblem(const judge::CaseSpec& a, const judge::CaseSpec& b) {
  const auto hash = [](const judge::CaseSpec& c) { return c.file ? c.file->hash : ""; };
  if (hash(a) != hash(b)) return false;
  return judge::CaseName(a) == judge::CaseName(b) && a.blocks == b.blocks && a.atol == b.atol &&
         a.rtol == b.rtol;
}

// What a program answers before anything is measured: its faults are errors of the option.
template <typename Ask>
auto AskProgram(std::string_view name, Ask ask) {
  const std::string option = fmt::format("--program {}", name);
  try {
    return ask();
  } catch (const Fault& fault) {
    throw Error(ErrorCode::kInvalidArgument, option, fault.what());
  } catch (const Error& error) {  // it can't be started
    throw Error(ErrorCode::kInvalidArgument, option, error.what());
  }
}

}  // namespace

std::optional<std::string> WhyNot(const judge::CaseSpec& spec, const SoftmaxVariant& variant) {
  const Support support = variant.supports(Normalise(ShapeOnly(spec).batch));
  if (support.ok) return std::nullopt;
  return support.field.empty() ? support.reason : support.field + " " + support.reason;
}

AttentionSubject::AttentionSubject(std::vector<ProgramCommand> programs, std::vector<std::string> ask)
    : programs_(std::move(programs)), ask_(std::move(ask)) {}

std::vector<std::string> AttentionSubject::Variants() const {
  std::vector<std::string> names;
  for (const SoftmaxVariant* variant : SoftmaxVariants()) names.emplace_back(variant->name);
  for (const HstuVariant* variant : HstuVariants()) names.emplace_back(variant->name);
  for (const ProgramCommand& program : programs_) names.push_back(program.name);
  return names;
}

std::vector<std::string> AttentionSubject::VariantsOf(judge::CaseOp op) const {
  std::vector<std::string> names;
  if (IsHstu(op)) {
    for (const HstuVariant* variant : HstuVariants()) names.emplace_back(variant->name);
  } else {
    for (const SoftmaxVariant* variant : SoftmaxVariants()) names.emplace_back(variant->name);
  }
  // Whether it computes that a program says when it is asked about a case.
  for (const ProgramCommand& program : programs_) names.push_back(program.name);
  return names;
}

bool AttentionSubject::Has(std::string_view variant) const {
  // Of a file it is asked with the cases.
  return ParseOutside(variant).has_value() || Subject::Has(variant);
}

bool AttentionSubject::Chooses(std::string_view variant) const { return app::Chooses(variant); }

std::optional<std::string> AttentionSubject::WhyNot(const judge::CaseSpec& spec,
                                                    std::string_view variant) const {
  if (CommandOf(variant) != nullptr) {
    if (spec.file) return "a case file is not asked of external programs";
    return AskProgram(variant, [&] { return Running(variant, 0)->WhyNot(spec); });
  }
  if (ParseOutside(variant) && !ask_.empty()) {
    if (hung_.contains(variant)) return std::nullopt;  // each time costs as long as is waited
    const OutsideAnswer answer = AskOutside(ask_, spec, variant);
    if (answer.hung) hung_.emplace(variant);
    return answer.why_not;
  }
  // Variants of its own are linked in: what they compute needs no library.
  const std::optional<OutsideVariant> outside = ParseOutside(variant);
  const KernelLibrary& library = outside ? Library(outside->library, 0).library() : *pagoda_kernel_library();
  const auto has = [&](const auto& list) {
    const std::string_view name = outside ? std::string_view(outside->name) : variant;
    return std::any_of(list.begin(), list.end(),
                       [&](const auto* v) { return name.empty() || v->name == name; });
  };
  const auto find = [&](const auto& list) -> const auto& {
    return outside ? FindOutside(list, *outside, variant) : FindVariant(list, variant);
  };
  std::string other = fmt::format("op = {} is not what it computes", NameOf(spec.op));
  if (IsHstu(spec.op)) {
    if (!has(library.hstu) && has(library.softmax)) return other;
    find(library.hstu);
    return std::nullopt;  // every variant supports every case
  }
  if (!has(library.softmax) && has(library.hstu)) return other;
  return app::WhyNot(spec, find(library.softmax));
}

judge::CaseFacts AttentionSubject::Facts(const judge::CaseSpec& spec) const { return FactsOf(spec); }

std::string AttentionSubject::AboutProgram(const std::string& name) const {
  return AskProgram(name, [&] { return Running(name, 0)->program().hello().about; });
}

const ProgramCommand* AttentionSubject::CommandOf(std::string_view variant) const {
  const auto command = std::find_if(programs_.begin(), programs_.end(),
                                    [&](const ProgramCommand& program) { return program.name == variant; });
  return command == programs_.end() ? nullptr : &*command;
}

ProgramVariant* AttentionSubject::Running(std::string_view variant, int link) const {
  const ProgramCommand* const command = CommandOf(variant);
  if (command == nullptr) return nullptr;
  std::unique_ptr<ProgramVariant>& running = running_[{command->name, link}];
  if (running == nullptr) running = std::make_unique<ProgramVariant>(*command);
  return running.get();
}

Kernels& AttentionSubject::Library(const std::filesystem::path& outside, int link) const {
  std::shared_ptr<Kernels>& library = libraries_[{outside, link}];
  if (library == nullptr) library = outside.empty() ? Kernels::Load(link) : LoadOutside(outside, link);
  return *library;
}

template <typename Batch>
AttentionSubject::Place<Batch> AttentionSubject::Find(std::string_view variant, int link) const {
  const std::optional<OutsideVariant> outside = ParseOutside(variant);
  ProgramVariant* const program = Running(variant, link);
  Kernels& kernels = program != nullptr ? program->kernels()
                                        : Library(outside ? outside->library : std::filesystem::path(), link);
  if (Chooses(outside ? outside->name : variant)) kernels.KnowMachine();
  const auto all = OperatorOf<Batch>::Variants(kernels.library());
  return {kernels, outside ? FindOutside(all, *outside, variant) : FindVariant(all, variant), program};
}

judge::GateResult AttentionSubject::Gate(const judge::CaseSpec& spec, std::string_view variant, uint64_t seed,
                                         int threads) {
  return Gate(spec, variant, 0, seed, threads);
}

judge::GateResult AttentionSubject::Gate(const judge::CaseSpec& spec, std::string_view variant, int link,
                                         uint64_t seed, int threads) {
  judge::GateResult result = IsHstu(spec.op) ? GateOf(spec, Find<HstuBatch>(variant, link), seed, threads)
                                             : GateOf(spec, Find<SoftmaxBatch>(variant, link), seed, threads);
  result.variant = variant;  // as it was asked for, not as its library calls it
  if (!result.passed && CommandOf(variant) != nullptr)
    running_.erase({std::string(variant), link});  // the next run starts anew
  return result;
}

judge::GateResult AttentionSubject::Gate(const judge::CaseSpec& spec, Kernels& kernels,
                                         const SoftmaxVariant& variant, uint64_t seed, int threads) {
  return GateOf(spec, Place<SoftmaxBatch>{kernels, variant}, seed, threads);
}

template <typename Batch>
judge::GateResult AttentionSubject::GateOf(const judge::CaseSpec& spec, const Place<Batch>& place,
                                           uint64_t seed, int threads) {
  Last<Batch>& last = std::get<Last<Batch>>(last_);
  if (last == nullptr || !SameProblem(last->spec(), spec) || last->seed() != seed) {
    last_ = {};  // before the next is made: one may hold gigabytes
    last = std::make_unique<GateCaseOf<Batch>>(spec, seed, &place.kernels.Pool(threads));
  }
  const bool with_lse = place.program == nullptr || place.program->program().hello().lse;
  const judge::GateResult result = RunGate(*last, place.kernels, place.variant, threads, with_lse);
  if (!result.passed && !last->Intact()) last.reset();
  return result;
}

std::vector<std::unique_ptr<judge::Arm>> AttentionSubject::Prepare(const judge::CaseSpec& spec,
                                                                   const judge::PrepareOptions& options) {
  last_ = {};
  return IsHstu(spec.op) ? PrepareOf<HstuBatch>(spec, options) : PrepareOf<SoftmaxBatch>(spec, options);
}

template <typename Batch>
std::vector<std::unique_ptr<judge::Arm>> AttentionSubject::PrepareOf(const judge::CaseSpec& spec,
                                                                     const judge::PrepareOptions& options) {
  // Libraries are loaded in the order in which the arms name them, so that their addresses vary with the
  // seed.
  bool any_program = false;
  for (size_t slot = 0; slot < options.arms.size(); ++slot) {
    if (options.about_to_prepare) options.about_to_prepare(slot);
    const Place<Batch> place = Find<Batch>(options.arms[slot].variant, options.arms[slot].link);
    place.kernels.Pool(options.threads);
    any_program = any_program || place.program != nullptr;
  }
  // The caller is worker 0 of every pool. Pinned only now: a pool asks which CPUs there are when it is made,
  // and a program gets those of the caller when it starts.
  sys::PinThisThread(sys::AllowedCpus().front());
  // All arms on the same memory, so that no one's lies in larger pages.
  const auto shared = std::make_shared<TimedInputsOf<Batch>>(
      spec, options.seed, options.cold ? ColdBytes() : 0, any_program ? Memory::kShared : Memory::kPrivate);
  std::vector<std::unique_ptr<judge::Arm>> arms;
  for (size_t slot = 0; slot < options.arms.size(); ++slot) {
    if (options.about_to_prepare) options.about_to_prepare(slot);
    const Place<Batch> place = Find<Batch>(options.arms[slot].variant, options.arms[slot].link);
    const uint64_t seed = Random(options.seed).Fork(slot).Bits();
    if (place.program != nullptr) {
      arms.push_back(std::make_unique<ProgramArm<Batch>>(shared, *place.program, options.threads, seed));
    } else {
      arms.push_back(
          std::make_unique<VariantArm<Batch>>(shared, place.kernels, place.variant, options.threads, seed));
    }
  }
  return arms;
}

}  // namespace pagoda::app
