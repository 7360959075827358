#include "app/subjects/program_variant.h"

#include <memory>
#include <span>
#include <vector>

#include "app/subjects/program_message.h"
#include "app/subjects/shared_call.h"
#include "app/subjects/softmax_inputs.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

class ProgramPlan : public SoftmaxPlanImpl {
 public:
  ProgramPlan(Program& program, const NormalBatch& normal)
      : program_(program), shared_(normal, program.hello().lse) {}

  void Run(const SoftmaxCall& call) const {
    if (call.out.dtype != batch.kv.dtype) {
      throw Error(ErrorCode::kUnsupported, "out", "of an external program has the dtype of its inputs");
    }
    // Before the inputs are there: what it keeps of them from here on is not theirs.
    program_.RequireReady(PrepareMessage(batch, call, threads, shared_.tensors()));
    shared_.Fill(call);
    program_.Run(1, 0);
    shared_.RequireUndamaged(call);
    shared_.TakeOutput(call);
  }

 private:
  Program& program_;
  mutable SharedCall shared_;  // a plan of the bench serves one call at a time
};

}  // namespace

ProgramVariant::ProgramVariant(const ProgramCommand& command)
    : command_(command), program_(command_), library_(LibraryOfOne()), kernels_(library_) {
  variant_.name = command_.name;
  variant_.summary = program_.hello().about;
  variant_.promises = program_.hello().promises;
  variant_.supports = Support::Everything;  // it is asked case by case, by WhyNot
  variant_.plan = [this](const NormalBatch& batch, int) -> std::unique_ptr<SoftmaxPlanImpl> {
    return std::make_unique<ProgramPlan>(program_, batch);
  };
  variant_.run = [](const SoftmaxPlanImpl& plan, const SoftmaxCall& call, std::span<std::byte>, ThreadPool&) {
    static_cast<const ProgramPlan&>(plan).Run(call);
  };
}

KernelLibrary ProgramVariant::LibraryOfOne() const {
  return {.softmax = {&only_, 1},
          .plan_softmax = PlanSoftmax,
          .run_softmax = RunSoftmax,
          .make_pool = [](int threads) { return std::make_unique<ThreadPool>(threads); }};
}

std::optional<std::string> ProgramVariant::WhyNot(const judge::CaseSpec& spec) {
  const ShapeOnly shape(spec);
  const NormalBatch batch = Normalise(shape.batch);
  std::vector<float> of_heads(static_cast<size_t>(spec.q_heads));
  const TensorView per_head = TensorView::Dense(of_heads.data(), DType::kF32, {spec.q_heads});
  SoftmaxCall call;
  if (spec.alibi) call.alibi_slopes = per_head;
  if (spec.sinks) call.sinks = per_head;
  const SharedCall shared(batch, program_.hello().lse);
  return program_.Prepare(PrepareMessage(batch, call, 1, shared.tensors()));
}

}  // namespace pagoda::app
