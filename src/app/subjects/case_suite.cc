#include "app/subjects/case_suite.h"

#include <fmt/format.h>

#include <cctype>
#include <string>
#include <string_view>
#include <variant>

#include "app/subjects/case_facts.h"
#include "engine/attention/hstu/variant.h"
#include "engine/attention/variant.h"
#include "judge/bench/case_name.h"
#include "judge/bench/facts.h"
#include "pagoda/status.h"

namespace pagoda::app {

namespace {

[[noreturn]] void RefuseToTime(std::string_view field, std::string_view why) {
  throw Error(ErrorCode::kInvalidArgument, field, fmt::format("{}, so there is nothing to time", why));
}

judge::CaseSpec SpecOf(const CaseFile& c, const SoftmaxProblem& problem) {
  const NormalBatch batch = Normalise(problem.batch);
  if (batch.total_q == 0) RefuseToTime("q_indptr", "holds no query row");
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
  return spec;
}

// What the file says of a problem by the fields of a case; masks and counts it keeps.
void FillFrom(const CaseFile& c, judge::CaseSpec& spec) {
  const HstuBatch& batch = std::get<HstuProblem>(c.problem()).batch;
  const NormalHstuBatch normal = Normalise(batch);
  if (normal.total_q == 0) RefuseToTime("seq_offsets", "holds no query row");
  spec.op = normal.paged ? judge::CaseOp::kHstuPaged : judge::CaseOp::kHstu;
  spec.contexts = normal.kv_len;
  spec.queries.clear();
  for (int64_t b = 0; b < normal.batch; ++b) spec.queries.push_back(normal.q_len(b));
  spec.q_heads = normal.q_heads;
  spec.kv_heads = normal.kv_heads;
  spec.head_dim = normal.head_dim;
  spec.head_dim_v = normal.head_dim_v;
  spec.dtype = normal.dtype;
  spec.index64 = batch.seq_offsets.dtype == DType::kI64;
  if (normal.paged) {
    spec.page_size = normal.kv.page_size;
    spec.hnd = c.layout() == KvLayout::kHND;
    spec.combined = c.combined();
  }
  judge::CheckCase(spec);
}

// Case names become parts of file names and command lines. With its extension it is no name of the grammar.
std::string CaseNameFor(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  for (char& c : name) {
    const bool legal = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
    if (!legal) c = '_';
  }
  return name;
}

judge::CaseSpec SpecOf(const CaseFile& c, const std::filesystem::path& path) {
  judge::CaseSpec spec;
  FillFrom(c, spec);
  spec.file = {std::filesystem::absolute(path).string(), judge::HashOfFile(path)};
  spec.name = CaseNameFor(path);
  if (FactsOf(spec).flops == 0) {
    const bool dense = std::get<HstuProblem>(c.problem()).batch.params.mask == HstuMask::kDense;
    RefuseToTime(dense ? "mask" : "interval_mask", "lets no row see a key");
  }
  return spec;
}

}  // namespace

judge::Suite SuiteOf(const CaseFile& c, const std::filesystem::path& path) {
  const auto* softmax = std::get_if<SoftmaxProblem>(&c.problem());
  return {.name = path.stem().string(),
          .about = "the problem of one case file",
          .cases = {softmax != nullptr ? SpecOf(c, *softmax) : SpecOf(c, path)},
          .variants = {},
          .baseline = {}};
}

void CompleteCase(judge::CaseSpec& spec) {
  if (!spec.file) return;
  const std::string& path = spec.file->path;
  if (judge::HashOfFile(path) != spec.file->hash) {
    throw Error(ErrorCode::kIo, path, "has changed since the run began; run the command again");
  }
  FillFrom(CaseFile::Open(path), spec);
}

}  // namespace pagoda::app
