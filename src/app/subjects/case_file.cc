#include "app/subjects/case_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "app/subjects/elements.h"
#include "base/suggest.h"
#include "engine/attention/hstu/variant.h"
#include "engine/attention/variant.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

constexpr std::string_view kExpectedLse = "expected_lse";

// Tensors of each operator.
using Names = std::vector<std::string>;
const Names kCache = {"k_cache", "v_cache", "kv_cache", "kv_indptr", "kv_indices", "kv_last_page_len"};
const Names kSoftmaxOnly = {"q_indptr",     "block_table", "context_lens",
                            "alibi_slopes", "sinks",       "expected_lse"};
const Names kHstuOnly = {"seq_offsets",     "k",   "v",    "num_targets",
                         "num_contextuals", "rab", "mask", "interval_mask"};

Names TensorsOf(CaseOperator op) {
  Names names = {"q", "expected_o"};
  const auto add = [&](const Names& more) { names.insert(names.end(), more.begin(), more.end()); };
  if (op != CaseOperator::kHstu) add(kCache);
  add(op == CaseOperator::kSoftmaxPaged ? kSoftmaxOnly : kHstuOnly);
  if (op == CaseOperator::kHstu) names.emplace_back("seq_offsets_k");
  return names;
}

[[noreturn]] void Refuse(std::string_view field, const std::string& complaint) {
  throw Error(ErrorCode::kInvalidArgument, field, complaint);
}

std::string ShapeOf(const TensorView& t) {
  return fmt::format("[{}]", fmt::join(t.shape.begin(), t.shape.begin() + t.rank, ", "));
}

void CheckShape(const TensorView& t, std::string_view name, std::initializer_list<int64_t> shape,
                std::string_view words) {
  const bool same =
      t.rank == static_cast<int>(shape.size()) && std::equal(shape.begin(), shape.end(), t.shape.begin());
  if (!same)
    Refuse(fmt::format("{}.shape", name),
           fmt::format("= {} must be {} = [{}]", ShapeOf(t), words, fmt::join(shape, ", ")));
}

// Offsets of `of` end where its rows do.
void CheckLastOffset(std::string_view offsets, int64_t batch, int64_t last, std::string_view of,
                     int64_t rows) {
  if (last != rows)
    Refuse(fmt::format("{}[{}]", offsets, batch), fmt::format("= {}, but {} has {} rows", last, of, rows));
}

}  // namespace

CaseFile CaseFile::Open(const std::filesystem::path& path) { return Parse(io::SafetensorsFile::Open(path)); }

CaseFile CaseFile::Parse(io::SafetensorsFile file) {
  CaseFile c(std::move(file));
  c.metadata_ = ReadCaseMetadata(c.file_.metadata());
  c.CheckNames();
  if (c.op() == CaseOperator::kSoftmaxPaged) {
    c.problem_ = c.ReadSoftmax();
  } else {
    c.problem_ = c.ReadHstu();
  }
  c.ReadGolden(std::visit(
      [](const auto& problem) {
        return OperatorOf<std::remove_cvref_t<decltype(problem.batch)>>::Output(problem.batch);
      },
      c.problem_));
  return c;
}

void CaseFile::CheckNames() const {
  const Names known = TensorsOf(op());
  for (const io::SafetensorsTensor& t : file_.tensors()) {
    if (std::find(known.begin(), known.end(), t.name) != known.end()) continue;
    for (const CaseOperator other :
         {CaseOperator::kSoftmaxPaged, CaseOperator::kHstuPaged, CaseOperator::kHstu}) {
      const Names theirs = TensorsOf(other);
      if (std::find(theirs.begin(), theirs.end(), t.name) != theirs.end())
        Refuse(t.name, fmt::format("is a tensor of {}, not of {}; remove it", NameOf(other), NameOf(op())));
    }
    Refuse(t.name, fmt::format("is not a tensor of {}{}", NameOf(op()), DidYouMean(t.name, known)));
  }
}

TensorView CaseFile::ReadQ() {
  const TensorView q = Require("q", {DType::kF32, DType::kF16, DType::kBF16});
  if (q.rank != 3) Refuse("q.shape", fmt::format("= {} must be [total_q, Hq, D]", ShapeOf(q)));
  return q;
}

SoftmaxProblem CaseFile::ReadSoftmax() {
  SoftmaxProblem problem;
  auto& [batch, call] = problem;
  call.q = ReadQ();
  batch.q_heads = call.q.shape[1];
  batch.params = metadata_.softmax;
  batch.q_indptr = RequireIndex("q_indptr");
  batch.kv = call.kv = ReadCache(call.q);
  batch.table = ReadTable();
  call.alibi_slopes = Read("alibi_slopes", {DType::kF32});
  call.sinks = Read("sinks", {DType::kF32});
  for (const auto& [view, name] :
       {std::pair{&call.alibi_slopes, "alibi_slopes"}, std::pair{&call.sinks, "sinks"}}) {
    if (!view->empty()) CheckShape(*view, name, {batch.q_heads}, "[Hq]");
  }
  const NormalBatch normal = Normalise(batch);
  CheckLastOffset("q_indptr", normal.batch, normal.total_q, "q", call.q.shape[0]);
  return problem;
}

HstuProblem CaseFile::ReadHstu() {
  const bool paged = op() == CaseOperator::kHstuPaged;
  HstuProblem problem;
  auto& [batch, call] = problem;
  call.q = ReadQ();
  call.k = Require("k", {call.q.dtype});
  call.v = Require("v", {call.q.dtype});
  for (const auto& [view, name, words] :
       {std::tuple{&call.k, "k", "[total_k, Hk, D]"}, {&call.v, "v", "[total_k, Hk, Dv]"}}) {
    if (view->rank != 3)
      Refuse(fmt::format("{}.shape", name), fmt::format("= {} must be {}", ShapeOf(*view), words));
  }
  batch.dtype = call.q.dtype;
  batch.q_heads = call.q.shape[1];
  batch.head_dim = call.q.shape[2];
  batch.kv_heads = call.k.shape[1];
  batch.head_dim_v = call.v.shape[2];
  CheckShape(call.k, "k", {call.k.shape[0], batch.kv_heads, batch.head_dim}, "[total_k, Hk, D]");
  CheckShape(call.v, "v", {call.k.shape[0], batch.kv_heads, batch.head_dim_v}, "[total_k, Hk, Dv]");
  batch.params = metadata_.hstu;
  batch.seq_offsets = RequireIndex("seq_offsets");
  batch.seq_offsets_k = ReadIndex("seq_offsets_k");
  if (paged) {
    batch.kv = call.kv = ReadCache(call.q);
    const std::string_view cache = combined() ? "kv_cache" : "k_cache";
    const std::string_view v_cache = combined() ? "kv_cache" : "v_cache";
    if (batch.kv.kv_heads != batch.kv_heads) {
      Refuse(fmt::format("{}.shape", cache),
             fmt::format("has {} heads, but k has {}", batch.kv.kv_heads, batch.kv_heads));
    }
    if (batch.kv.head_dim_v != batch.head_dim_v) {
      Refuse(fmt::format("{}.shape", v_cache),
             fmt::format("has head dim {}, but v has {}", batch.kv.head_dim_v, batch.head_dim_v));
    }
    batch.table = ReadCsr();
  }
  batch.num_targets = ReadIndex("num_targets");
  batch.num_contextuals = ReadIndex("num_contextuals");
  batch.interval_mask = ReadIndex("interval_mask");
  call.rab = Read("rab", {DType::kF32});
  call.mask = Read("mask", {DType::kF32});
  const NormalHstuBatch normal = Normalise(batch);
  CheckLastOffset("seq_offsets", normal.batch, normal.total_q, "q", call.q.shape[0]);
  CheckLastOffset(paged || batch.seq_offsets_k.empty() ? "seq_offsets" : "seq_offsets_k", normal.batch,
                  normal.total_k, "k", call.k.shape[0]);
  CheckPairTensors(normal, call);
  return problem;
}

TensorView CaseFile::Read(std::string_view name, std::initializer_list<DType> dtypes) {
  const io::SafetensorsTensor* found = file_.Find(name);
  if (found == nullptr) return {};
  const std::optional<DType> dtype = io::ToDType(found->type);
  if (!dtype || std::find(dtypes.begin(), dtypes.end(), *dtype) == dtypes.end()) {
    std::string allowed;
    for (const DType d : dtypes) {
      allowed += fmt::format("{}{}", allowed.empty() ? "" : " or ", io::NameOf(io::ToSafetensorsType(d)));
    }
    Refuse(name, fmt::format("is {}, but must be {}", io::NameOf(found->type), allowed));
  }
  if (found->shape.empty() || found->shape.size() > static_cast<size_t>(kMaxRank)) {
    Refuse(fmt::format("{}.shape", name), fmt::format("has {} dimensions", found->shape.size()));
  }
  Buffer& copy = data_.emplace_back(found->bytes.size());
  if (!found->bytes.empty()) std::memcpy(copy.data(), found->bytes.data(), found->bytes.size());
  TensorView view;
  view.data = copy.data();
  view.dtype = *dtype;
  view.rank = static_cast<int>(found->shape.size());
  std::copy(found->shape.begin(), found->shape.end(), view.shape.begin());
  int64_t stride = 1;
  for (int d = view.rank - 1; d >= 0; --d) {
    view.strides[d] = stride;
    // A tensor without elements may have any other dimension, so the product of some may not fit.
    if (__builtin_mul_overflow(stride, std::max<int64_t>(1, view.shape[d]), &stride)) {
      Refuse(fmt::format("{}.shape", name), fmt::format("= {} is too large", ShapeOf(view)));
    }
  }
  return view;
}

TensorView CaseFile::Require(std::string_view name, std::initializer_list<DType> dtypes) {
  const TensorView view = Read(name, dtypes);
  if (view.empty()) Refuse(name, "is missing");
  return view;
}

TensorView CaseFile::ReadIndex(std::string_view name) { return Read(name, {DType::kI32, DType::kI64}); }

TensorView CaseFile::RequireIndex(std::string_view name) { return Require(name, {DType::kI32, DType::kI64}); }

PagedKvView CaseFile::ReadCache(const TensorView& q) {
  PagedKvView kv;
  if (combined()) {
    for (const std::string_view other : {"k_cache", "v_cache"}) {
      if (Holds(other)) Refuse(other, "and kv_cache are both given; a cache has one form");
    }
    kv = PagedKvView::Combined(Require("kv_cache", {q.dtype}), metadata_.layout);
  } else {
    if (!Holds("k_cache") && !Holds("v_cache"))
      Refuse("k_cache", "is missing: give k_cache and v_cache, or kv_cache");
    const TensorView k = Require("k_cache", {q.dtype});
    const TensorView v = Require("v_cache", {q.dtype});
    kv = PagedKvView::Split(k, v, metadata_.layout);
  }
  const std::string_view k_name = combined() ? "kv_cache" : "k_cache";
  if (kv.head_dim != q.shape[2]) {
    Refuse(fmt::format("{}.shape", k_name),
           fmt::format("has head dim {}, but q.shape = {} has {}", kv.head_dim, ShapeOf(q), q.shape[2]));
  }
  if (q.shape[1] < 1 || q.shape[1] % kv.kv_heads != 0) {
    Refuse("q.shape", fmt::format("= {} has {} heads, which is no multiple of the {} heads of {}", ShapeOf(q),
                                  q.shape[1], kv.kv_heads, k_name));
  }
  return kv;
}

PageTable CaseFile::ReadCsr() {
  const TensorView indptr = RequireIndex("kv_indptr");
  const TensorView indices = RequireIndex("kv_indices");
  return PageTable::Csr(indptr, indices, RequireIndex("kv_last_page_len"));
}

PageTable CaseFile::ReadTable() {
  const auto first_of = [this](std::initializer_list<std::string_view> names) -> std::string_view {
    const auto* found =
        std::find_if(names.begin(), names.end(), [this](std::string_view name) { return Holds(name); });
    return found == names.end() ? std::string_view() : *found;
  };
  const std::string_view csr = first_of({"kv_indptr", "kv_indices", "kv_last_page_len"});
  const std::string_view padded = first_of({"block_table", "context_lens"});
  if (!csr.empty() && !padded.empty()) {
    Refuse(padded, fmt::format("and {} are both given; a page table has one form", csr));
  }
  if (csr.empty() && padded.empty()) {
    Refuse("kv_indptr",
           "is missing: give kv_indptr, kv_indices and kv_last_page_len, or block_table and context_lens");
  }
  if (padded.empty()) return ReadCsr();
  const TensorView table = RequireIndex("block_table");
  return PageTable::Padded(table, RequireIndex("context_lens"));
}

void CaseFile::ReadGolden(const OutputShape& shape) {
  const TensorView o = Read("expected_o", {DType::kF32, DType::kF64});
  const TensorView lse = Read(kExpectedLse, {DType::kF32, DType::kF64});
  if (o.empty()) {
    if (!lse.empty()) Refuse("expected_o", "is missing, but expected_lse is there");
    return;
  }
  CheckShape(o, "expected_o", {shape.rows, shape.heads, shape.dim}, "[total_q, Hq, Dv]");
  if (!lse.empty()) CheckShape(lse, kExpectedLse, {shape.rows, shape.heads}, "[total_q, Hq]");
  if (!metadata_.atol) Refuse("atol", "is missing from the metadata; expected_o needs it");
  if (!metadata_.rtol) Refuse("rtol", "is missing from the metadata; expected_o needs it");
  Golden golden;
  golden.tolerance = {*metadata_.atol, *metadata_.rtol, false};
  for (int64_t row = 0; row < shape.rows; ++row) golden.want.rows.push_back(row);
  for (int64_t i = 0; i < o.elements(); ++i) golden.want.out.push_back(ReadElement(o.data, o.dtype, i));
  if (!lse.empty()) {
    for (int64_t i = 0; i < lse.elements(); ++i)
      golden.want.lse.push_back(ReadElement(lse.data, lse.dtype, i));
  }
  golden_ = std::move(golden);
}

void CaseFile::WriteWithGolden(const std::filesystem::path& path, ThreadPool& pool) const {
  OracleOptions options;
  options.max_flops = std::numeric_limits<double>::infinity();
  const auto [want, shape, dtype] = std::visit(
      [&](const auto& problem) {
        using Op = OperatorOf<std::remove_cvref_t<decltype(problem.batch)>>;
        return std::tuple(Op::Oracle(problem.batch, problem.call, options, &pool), Op::Output(problem.batch),
                          problem.call.q.dtype);
      },
      problem_);
  std::vector<io::SafetensorsTensor> tensors;
  for (const io::SafetensorsTensor& t : file_.tensors()) {
    if (t.name != "expected_o" && t.name != kExpectedLse) tensors.push_back(t);
  }
  tensors.push_back({"expected_o",
                     io::SafetensorsType::kF64,
                     {shape.rows, shape.heads, shape.dim},
                     std::as_bytes(std::span(want.out))});
  if (op() == CaseOperator::kSoftmaxPaged && metadata_.return_lse) {
    tensors.push_back({std::string(kExpectedLse),
                       io::SafetensorsType::kF64,
                       {shape.rows, shape.heads},
                       std::as_bytes(std::span(want.lse))});
  }
  Metadata metadata = file_.metadata();
  const Tolerance usual = GateTolerance(dtype);
  if (!metadata_.atol) metadata["atol"] = fmt::format("{}", usual.atol);
  if (!metadata_.rtol) metadata["rtol"] = fmt::format("{}", usual.rtol);
  metadata["source"] = "fp64 oracle of pagoda";
  io::WriteSafetensors(path, tensors, metadata);
}

}  // namespace pagoda::app
