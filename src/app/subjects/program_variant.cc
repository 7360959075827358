#include "app/subjects/program_variant.h"

#include <fmt/format.h>

#include <memory>
#include <span>

#include "app/subjects/call_inputs.h"
#include "app/subjects/operator.h"
#include "app/subjects/program_message.h"
#include "app/subjects/shared_call.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

// Whether it is asked for the LSE of an operator.
template <typename Batch>
bool WritesLse(const Program& program) {
  return OperatorOf<Batch>::kHasLse && program.hello().lse;
}

template <typename Normal>
OutputShape OutputOf(const Normal& batch) {
  return {batch.total_q, batch.q_heads, batch.head_dim_v};
}

template <typename Batch>
class ProgramPlan : public OperatorOf<Batch>::PlanImpl {
 public:
  explicit ProgramPlan(Program& program) : program_(program) {}

  void Run(const typename OperatorOf<Batch>::Call& call) const {
    if (call.out.dtype != call.q.dtype) {
      throw Error(ErrorCode::kUnsupported, "out", "of an external program has the dtype of its inputs");
    }
    const CallInputs inputs = InputsOfCall(this->batch, call);
    shared_.MakeRoom(inputs, OutputOf(this->batch), WritesLse<Batch>(program_));
    // Before the inputs are there: what it keeps of them from here on is not theirs.
    program_.RequireReady(PrepareMessage(this->batch, call, this->threads, shared_.tensors()));
    shared_.Fill(inputs);
    program_.Run(1, 0);
    shared_.RequireUndamaged(inputs);
    shared_.TakeOutput(call.out, OperatorOf<Batch>::LseOf(call));
  }

 private:
  Program& program_;
  mutable SharedCall shared_;  // a plan of the bench serves one call at a time
};

}  // namespace

template <typename Batch>
typename OperatorOf<Batch>::Variant ProgramVariant::VariantOf() {
  using Op = OperatorOf<Batch>;
  typename Op::Variant variant;
  variant.name = command_.name;
  variant.summary = program_.hello().about;
  variant.promises = program_.hello().promises;
  variant.plan = [this](const typename Op::Normal&, int,
                        const auto&...) -> std::unique_ptr<typename Op::PlanImpl> {
    return std::make_unique<ProgramPlan<Batch>>(program_);
  };
  variant.run = [](const typename Op::PlanImpl& plan, const typename Op::Call& call, std::span<std::byte>,
                   ThreadPool&) { static_cast<const ProgramPlan<Batch>&>(plan).Run(call); };
  return variant;
}

ProgramVariant::ProgramVariant(const ProgramCommand& command)
    : command_(command),
      program_(command_),
      softmax_(VariantOf<SoftmaxBatch>()),
      hstu_(VariantOf<HstuBatch>()),
      library_(Library()),
      kernels_(library_) {
  softmax_.supports = Support::Everything;  // it is asked case by case, by WhyNot
}

KernelLibrary ProgramVariant::Library() const {
  const auto variants = [this](judge::CaseOp op) { return program_.hello().Computes(op) ? size_t{1} : 0; };
  return {.softmax = {&only_softmax_, variants(judge::CaseOp::kSoftmaxPaged)},
          .plan_softmax = PlanSoftmax,
          .run_softmax = RunSoftmax,
          .hstu = {&only_hstu_, variants(judge::CaseOp::kHstuPaged)},
          .plan_hstu = PlanHstu,
          .run_hstu = RunHstu,
          .make_pool = [](int threads) { return std::make_unique<ThreadPool>(threads); }};
}

template <typename Batch>
std::optional<std::string> ProgramVariant::WhyNotOf(const judge::CaseSpec& spec) {
  const typename OperatorOf<Batch>::Shape shape(spec);
  const auto batch = Normalise(shape.batch);
  SharedCall shared;
  shared.MakeRoom(InputsOfCall(batch, shape.call), OutputOf(batch), WritesLse<Batch>(program_));
  return program_.Prepare(PrepareMessage(batch, shape.call, 1, shared.tensors()));
}

std::optional<std::string> ProgramVariant::WhyNot(const judge::CaseSpec& spec) {
  if (!program_.hello().Computes(spec.op))
    return fmt::format("op = {} is not in the ops that its hello lists", NameOf(spec.op));
  return spec.op == judge::CaseOp::kHstuPaged ? WhyNotOf<HstuBatch>(spec) : WhyNotOf<SoftmaxBatch>(spec);
}

}  // namespace pagoda::app
