// Cases and suites as data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/trace.h"
#include "pagoda/tensor.h"

namespace pagoda::judge {

// What a sweep goes over.
enum class SweepAxis : uint8_t {
  kContext,
  kBatch,
  kPageSize,
  kQueryHeads,  // a ratio of query heads to kv heads with the kv heads fixed
  kKvHeads,     // the same with the query heads fixed
  kQueries,
};

// What a case computes.
enum class CaseOp : uint8_t { kSoftmaxPaged, kHstuPaged, kHstu };

// "softmax_paged_attention", "hstu_paged_attention", "hstu_attention".
std::string_view NameOf(CaseOp op);
constexpr bool IsHstu(CaseOp op) { return op != CaseOp::kSoftmaxPaged; }

// A case file that a problem stands in.
struct ProblemFile {
  std::string path;
  std::string hash;  // of its contents
};

// One attention problem of a suite. The name follows one grammar everywhere:
//   b1_h16_kv8_s4096_bs64_hd128_bf16_decode, _q512 for a chunk of 512 queries, then what differs from
//   defaults; hstu_ in front of it for HSTU. Batches of drawn lengths have where these are from in place of
//   s4096.
struct CaseSpec {
  std::string name;
  CaseOp op = CaseOp::kSoftmaxPaged;
  std::vector<int64_t> contexts;  // keys of each sequence, the queries included
  std::vector<int64_t> queries;   // query rows of each sequence, same length
  // Ids of the blocks of 512 keys that each sequence consists of, the last one perhaps partial. Equal ids are
  // the same pages, stored once. Empty: nothing is shared.
  std::vector<std::vector<int64_t>> blocks;
  static constexpr int64_t kBlockKeys = io::RequestTrace::kBlockTokens;
  int64_t q_heads = 1, kv_heads = 1;
  int64_t head_dim = 128, head_dim_v = 128;
  int64_t page_size = 16;
  DType dtype = DType::kBF16;
  bool hnd = false;       // page layout [H, S, D] instead of [S, H, D]
  bool combined = false;  // K and V in one tensor
  bool padded = false;    // block_table instead of CSR
  bool index64 = false;   // int64 page table
  bool causal = true;
  int64_t window_left = -1, window_right = -1;
  // Of softmax.
  double softcap = 0;
  bool alibi = false, sinks = false;
  // Of HSTU: so many of each sequence's keys are targets, and so many rows contextual.
  int64_t targets = 0, target_group = 1, contextual = 0;
  int64_t max_attn_len = 0, min_full_attn_seq_len = 0;  // 0: off
  bool rab = false;                                     // a relative attention bias
  bool cold = true;
  double weight = 1;
  int64_t least_batch = 0;        // to which a budget may halve the batch; 0: not at all
  double atol = 0, rtol = 0;      // 0: the gate's own for the dtype
  std::vector<SweepAxis> sweeps;  // the case is a point of a sweep over each; its sequences are all alike
  // Of HSTU, where the fields above can't say all: masks, counts for each sequence. Lengths, heads, dims,
  // dtype and layout are the file's then, and the others say nothing.
  std::optional<ProblemFile> file;
};

struct Suite {
  std::string name;
  std::string about;
  std::vector<CaseSpec> cases;
  std::vector<std::string> variants;  // default variants; empty: all
  std::string baseline;               // empty: the first variant
  // Where its file says so, as the field of an error.
  std::string variants_at = "variants", baseline_at = "baseline";
  double epoch_ms = 0;  // least time of one timing; 0: the protocol's
  double budget_s = 0;  // what a run may take unless told otherwise; 0: no limit
  int warmups = 0;      // least calls of each variant before it is timed; 0: the protocol's rule alone
  int samples = 0;      // least times of each variant and case over all launches; 0: no such number
};

// The name that a spec's fields give by the grammar above.
std::string CaseName(const CaseSpec& spec);

// A built-in suite by name, or a TOML file by path; with a trace, drawn lengths come from there. Throws Error
// naming file, line, column and key; an unknown name gets "did you mean".
Suite LoadSuite(std::string_view name_or_path, const io::RequestTrace* trace = nullptr);
// Built-in suites, by name, in the order to list them.
std::vector<std::string> SuiteNames();

}  // namespace pagoda::judge
