#include "app/subjects/softmax.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "app/subjects/fault.h"
#include "app/subjects/outside.h"
#include "app/subjects/program_arm.h"
#include "app/subjects/softmax_arm.h"
#include "base/random.h"
#include "base/sys/affinity.h"
#include "base/sys/cpu.h"
#include "engine/attention/oracle.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

constexpr int64_t kLeastColdBytes = int64_t{256} << 20;

// What a case's inputs and reference depend on.
bool SameProblem(const judge::CaseSpec& a, const judge::CaseSpec& b) {
  return judge::CaseName(a) == judge::CaseName(b) && a.blocks == b.blocks && a.atol == b.atol &&
         a.rtol == b.rtol;
}

struct KeyRange {
  int64_t first = 0, end = 0;
};

// Keys of sequence b that any of its rows sees: the rows' ranges overlap or touch, so their union is one.
KeyRange SeenKeys(const judge::CaseSpec& spec, size_t b) {
  const int64_t keys = spec.contexts[b];
  if (spec.queries[b] == 0) return {};
  const int64_t first_row = keys - spec.queries[b];
  const int64_t last_row = keys - 1;
  int64_t first = 0;
  int64_t end = keys;
  if (spec.window_left >= 0) first = std::max<int64_t>(0, first_row - std::min(spec.window_left, keys));
  if (spec.causal) end = std::min(end, last_row + 1);
  if (spec.window_right >= 0) end = std::min(end, last_row + std::min(spec.window_right, keys) + 1);
  return {first, std::max(first, end)};
}

// Keys of the cache that any row of any sequence sees.
int64_t SeenKeys(const judge::CaseSpec& spec) {
  int64_t apart = 0;
  std::map<int64_t, std::bitset<judge::CaseSpec::kBlockKeys>> seen_of_block;
  for (size_t b = 0; b < spec.contexts.size(); ++b) {
    const KeyRange range = SeenKeys(spec, b);
    if (spec.blocks.empty()) {
      apart += range.end - range.first;
      continue;
    }
    for (int64_t j = range.first; j < range.end; ++j) {
      seen_of_block[spec.blocks[b][j / judge::CaseSpec::kBlockKeys]].set(j % judge::CaseSpec::kBlockKeys);
    }
  }
  int64_t shared = 0;
  for (const auto& [id, seen] : seen_of_block) shared += static_cast<int64_t>(seen.count());
  return apart + shared;
}

// Pages, with all their slots, are real memory, whoever owns them; cold caches take copies of the whole
// cache.
double MemoryOf(const judge::CaseSpec& spec, int64_t num_pages) {
  const auto pool = static_cast<double>(PoolBytes(spec, num_pages));
  const double pools = spec.cold ? std::ceil(static_cast<double>(ColdBytes()) / pool) : 1;
  const auto rows = std::accumulate(spec.queries.begin(), spec.queries.end(), int64_t{0});
  const int64_t row = spec.q_heads * (spec.head_dim + spec.head_dim_v) * SizeOf(spec.dtype);
  return pools * pool + static_cast<double>(rows * row);
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

judge::CaseFacts FactsOf(const judge::CaseSpec& spec) {
  const auto size = static_cast<double>(SizeOf(spec.dtype));
  const auto k_dim = static_cast<double>(spec.kv_heads * spec.head_dim);
  const auto v_dim = static_cast<double>(spec.kv_heads * spec.head_dim_v);
  judge::CaseFacts facts;
  facts.bytes = static_cast<double>(SeenKeys(spec)) * (k_dim + v_dim) * size;
  const ShapeOnly shape(spec);
  facts.flops = SoftmaxFlops(shape.batch);
  facts.run_bytes = static_cast<double>(spec.page_size) * (spec.combined ? k_dim + v_dim : k_dim) * size;
  facts.memory_bytes = MemoryOf(spec, shape.batch.kv.num_pages);
  return facts;
}

std::optional<std::string> WhyNot(const judge::CaseSpec& spec, const SoftmaxVariant& variant) {
  const Support support = variant.supports(Normalise(ShapeOnly(spec).batch));
  if (support.ok) return std::nullopt;
  return support.field.empty() ? support.reason : support.field + " " + support.reason;
}

int64_t ColdBytes() { return std::max(kLeastColdBytes, 4 * sys::ReadMachineInfo().LastLevelCacheBytes()); }

SoftmaxSubject::SoftmaxSubject(std::vector<ProgramCommand> programs, std::vector<std::string> ask)
    : programs_(std::move(programs)), ask_(std::move(ask)) {}

std::vector<std::string> SoftmaxSubject::Variants() const {
  std::vector<std::string> names;
  for (const SoftmaxVariant* variant : SoftmaxVariants()) names.emplace_back(variant->name);
  for (const ProgramCommand& program : programs_) names.push_back(program.name);
  return names;
}

bool SoftmaxSubject::Has(std::string_view variant) const {
  // Of a file it is asked with the cases.
  return ParseOutside(variant).has_value() || Subject::Has(variant);
}

std::optional<std::string> SoftmaxSubject::WhyNot(const judge::CaseSpec& spec,
                                                  std::string_view variant) const {
  if (CommandOf(variant) != nullptr) {
    return AskProgram(variant, [&] { return Running(variant, 0)->WhyNot(spec); });
  }
  if (!ParseOutside(variant)) return app::WhyNot(spec, FindVariant(SoftmaxVariants(), variant));
  if (ask_.empty()) return app::WhyNot(spec, Find(variant, 0).variant);
  if (hung_.contains(variant)) return std::nullopt;  // each time costs as long as is waited
  const OutsideAnswer answer = AskOutside(ask_, spec, variant);
  if (answer.hung) hung_.emplace(variant);
  return answer.why_not;
}

judge::CaseFacts SoftmaxSubject::Facts(const judge::CaseSpec& spec) const { return FactsOf(spec); }

std::string SoftmaxSubject::AboutProgram(const std::string& name) const {
  return AskProgram(name, [&] { return Running(name, 0)->program().hello().about; });
}

const ProgramCommand* SoftmaxSubject::CommandOf(std::string_view variant) const {
  const auto command = std::find_if(programs_.begin(), programs_.end(),
                                    [&](const ProgramCommand& program) { return program.name == variant; });
  return command == programs_.end() ? nullptr : &*command;
}

ProgramVariant* SoftmaxSubject::Running(std::string_view variant, int link) const {
  const ProgramCommand* const command = CommandOf(variant);
  if (command == nullptr) return nullptr;
  std::unique_ptr<ProgramVariant>& running = running_[{command->name, link}];
  if (running == nullptr) running = std::make_unique<ProgramVariant>(*command);
  return running.get();
}

Kernels& SoftmaxSubject::Library(const std::filesystem::path& outside, int link) const {
  std::shared_ptr<Kernels>& library = libraries_[{outside, link}];
  if (library == nullptr) library = outside.empty() ? Kernels::Load(link) : LoadOutside(outside, link);
  return *library;
}

SoftmaxSubject::Place SoftmaxSubject::Find(std::string_view variant, int link) const {
  if (ProgramVariant* const program = Running(variant, link)) {
    return {program->kernels(), program->variant(), program};
  }
  const std::optional<OutsideVariant> outside = ParseOutside(variant);
  Kernels& kernels = Library(outside ? outside->library : std::filesystem::path(), link);
  return {kernels, outside ? FindOutside(kernels, *outside, variant) : kernels.Variant(variant), nullptr};
}

judge::GateResult SoftmaxSubject::Gate(const judge::CaseSpec& spec, std::string_view variant, uint64_t seed,
                                       int threads) {
  return Gate(spec, variant, 0, seed, threads);
}

judge::GateResult SoftmaxSubject::Gate(const judge::CaseSpec& spec, std::string_view variant, int link,
                                       uint64_t seed, int threads) {
  const auto& [kernels, chosen, program] = Find(variant, link);
  const bool with_lse = program == nullptr || program->program().hello().lse;
  judge::GateResult result = Gate(spec, kernels, chosen, seed, threads, with_lse);
  result.variant = variant;  // as it was asked for, not as its library calls it
  if (!result.passed && program != nullptr)
    running_.erase({std::string(variant), link});  // the next run starts anew
  return result;
}

judge::GateResult SoftmaxSubject::Gate(const judge::CaseSpec& spec, Kernels& kernels,
                                       const SoftmaxVariant& variant, uint64_t seed, int threads,
                                       bool with_lse) {
  if (last_ == nullptr || !SameProblem(last_->spec(), spec) || last_->seed() != seed) {
    last_.reset();  // before the next is made: one may hold gigabytes
    last_ = std::make_unique<GateCase>(spec, seed, &kernels.Pool(threads));
  }
  const judge::GateResult result = RunGate(*last_, kernels, variant, threads, with_lse);
  if (!result.passed && !last_->Intact()) last_.reset();
  return result;
}

std::vector<std::unique_ptr<judge::Arm>> SoftmaxSubject::Prepare(const judge::CaseSpec& spec,
                                                                 const judge::PrepareOptions& options) {
  last_.reset();
  // Libraries are loaded in the order in which the arms name them, so that their addresses vary with the
  // seed.
  bool any_program = false;
  for (size_t slot = 0; slot < options.arms.size(); ++slot) {
    if (options.about_to_prepare) options.about_to_prepare(slot);
    const Place place = Find(options.arms[slot].variant, options.arms[slot].link);
    place.kernels.Pool(options.threads);
    any_program = any_program || place.program != nullptr;
  }
  // The caller is worker 0 of every pool. Pinned only now: a pool asks which CPUs there are when it is made,
  // and a program gets those of the caller when it starts.
  sys::PinThisThread(sys::AllowedCpus().front());
  // All arms on the same memory, so that no one's lies in larger pages.
  const auto shared = std::make_shared<TimedInputs>(spec, options.seed, options.cold ? ColdBytes() : 0,
                                                    any_program ? Memory::kShared : Memory::kPrivate);
  std::vector<std::unique_ptr<judge::Arm>> arms;
  for (size_t slot = 0; slot < options.arms.size(); ++slot) {
    if (options.about_to_prepare) options.about_to_prepare(slot);
    const auto& [kernels, variant, program] = Find(options.arms[slot].variant, options.arms[slot].link);
    const uint64_t seed = Random(options.seed).Fork(slot).Bits();
    if (program != nullptr) {
      arms.push_back(std::make_unique<ProgramArm>(shared, *program, options.threads, seed));
    } else {
      arms.push_back(std::make_unique<SoftmaxArm>(shared, kernels, variant, options.threads, seed));
    }
  }
  return arms;
}

}  // namespace pagoda::app
