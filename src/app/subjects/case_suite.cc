#include "app/subjects/case_suite.h"

#include <utility>

#include "engine/attention/variant.h"
#include "pagoda/status.h"

namespace pagoda::app {

judge::Suite SuiteOf(const CaseFile& c, std::string name) {
  const SoftmaxProblem& problem = c.softmax();
  const NormalBatch batch = Normalise(problem.batch);
  if (batch.total_q == 0) {
    throw Error(ErrorCode::kInvalidArgument, "q_indptr", "holds no query row, so there is nothing to time");
  }
  const PageTable& table = problem.batch.table;
  judge::CaseSpec spec;
  for (int64_t b = 0; b < batch.batch; ++b) {
    spec.contexts.push_back(batch.kv_len[b]);
    spec.queries.push_back(batch.q_len(b));
  }
  spec.q_heads = batch.q_heads;
  spec.kv_heads = batch.kv_heads;
  spec.head_dim = batch.head_dim;
  spec.head_dim_v = batch.head_dim_v;
  spec.page_size = batch.kv.page_size;
  spec.dtype = batch.kv.dtype;
  spec.hnd = c.layout() == KvLayout::kHND;
  spec.combined = c.combined();
  spec.padded = !table.is_csr();
  spec.index64 = (table.is_csr() ? table.indices : table.block_table).dtype == DType::kI64;
  const SoftmaxParams& params = problem.batch.params;
  spec.causal = params.causal;
  spec.window_left = params.window_left;
  spec.window_right = params.window_right;
  spec.softcap = params.softcap;
  spec.alibi = !problem.call.alibi_slopes.empty();
  spec.sinks = !problem.call.sinks.empty();
  spec.name = CaseName(spec);
  return {.name = std::move(name),
          .about = "the problem of one case file",
          .cases = {spec},
          .variants = {},
          .baseline = {}};
}

}  // namespace pagoda::app
