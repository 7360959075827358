#include "app/subjects/case_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>

#include "app/subjects/elements.h"
#include "base/suggest.h"
#include "engine/attention/variant.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

constexpr std::array<std::string_view, 13> kTensors = {
    "q",          "q_indptr",         "k_cache",     "v_cache",      "kv_cache",     "kv_indptr",
    "kv_indices", "kv_last_page_len", "block_table", "context_lens", "alibi_slopes", "sinks",
    "expected_o"};
constexpr std::string_view kExpectedLse = "expected_lse";
constexpr std::array<std::string_view, 9> kHstuOnlyTensors = {
    "seq_offsets", "seq_offsets_k", "k", "v", "num_targets", "num_contextuals", "rab",
    "mask",        "interval_mask"};

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

}  // namespace

CaseFile CaseFile::Open(const std::filesystem::path& path) { return Parse(io::SafetensorsFile::Open(path)); }

CaseFile CaseFile::Parse(io::SafetensorsFile file) {
  CaseFile c(std::move(file));
  c.metadata_ = ReadSoftmaxMetadata(c.file_.metadata());
  c.CheckNames();
  c.call_.q = c.Require("q", {DType::kF32, DType::kF16, DType::kBF16});
  if (c.call_.q.rank != 3)
    Refuse("q.shape", fmt::format("= {} must be [total_q, Hq, D]", ShapeOf(c.call_.q)));
  c.batch_.q_heads = c.call_.q.shape[1];
  c.batch_.params = c.metadata_.params;
  c.batch_.q_indptr = c.Require("q_indptr", {DType::kI32, DType::kI64});
  c.ReadCache();
  c.ReadTable();
  c.call_.alibi_slopes = c.Read("alibi_slopes", {DType::kF32});
  c.call_.sinks = c.Read("sinks", {DType::kF32});
  for (const auto& [view, name] :
       {std::pair{&c.call_.alibi_slopes, "alibi_slopes"}, std::pair{&c.call_.sinks, "sinks"}}) {
    if (!view->empty()) CheckShape(*view, name, {c.batch_.q_heads}, "[Hq]");
  }
  const NormalBatch normal = Normalise(c.batch_);
  if (normal.total_q != c.call_.q.shape[0]) {
    Refuse(fmt::format("q_indptr[{}]", normal.batch),
           fmt::format("= {}, but q has {} rows", normal.total_q, c.call_.q.shape[0]));
  }
  c.ReadGolden();
  return c;
}

void CaseFile::CheckNames() const {
  std::vector<std::string> known(kTensors.begin(), kTensors.end());
  known.emplace_back(kExpectedLse);
  for (const io::SafetensorsTensor& t : file_.tensors()) {
    if (std::find(known.begin(), known.end(), t.name) != known.end()) continue;
    if (std::find(kHstuOnlyTensors.begin(), kHstuOnlyTensors.end(), t.name) != kHstuOnlyTensors.end()) {
      Refuse(t.name, "is a tensor of HSTU, not of softmax_paged_attention; remove it");
    }
    Refuse(t.name, fmt::format("is not a tensor of softmax_paged_attention{}", DidYouMean(t.name, known)));
  }
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

void CaseFile::ReadCache() {
  const DType dtype = call_.q.dtype;
  if (combined()) {
    for (const std::string_view other : {"k_cache", "v_cache"}) {
      if (file_.Find(other) != nullptr) Refuse(other, "and kv_cache are both given; a cache has one form");
    }
    call_.kv = PagedKvView::Combined(Require("kv_cache", {dtype}), metadata_.layout);
  } else {
    if (file_.Find("k_cache") == nullptr && file_.Find("v_cache") == nullptr) {
      Refuse("k_cache", "is missing: give k_cache and v_cache, or kv_cache");
    }
    const TensorView k = Require("k_cache", {dtype});
    const TensorView v = Require("v_cache", {dtype});
    call_.kv = PagedKvView::Split(k, v, metadata_.layout);
  }
  const std::string_view k_name = combined() ? "kv_cache" : "k_cache";
  if (call_.kv.head_dim != call_.q.shape[2]) {
    Refuse(fmt::format("{}.shape", k_name),
           fmt::format("has head dim {}, but q.shape = {} has {}", call_.kv.head_dim, ShapeOf(call_.q),
                       call_.q.shape[2]));
  }
  if (batch_.q_heads < 1 || batch_.q_heads % call_.kv.kv_heads != 0) {
    Refuse("q.shape", fmt::format("= {} has {} heads, which is no multiple of the {} heads of {}",
                                  ShapeOf(call_.q), batch_.q_heads, call_.kv.kv_heads, k_name));
  }
  batch_.kv = call_.kv;
}

void CaseFile::ReadTable() {
  const auto first_of = [this](std::initializer_list<std::string_view> names) -> std::string_view {
    for (const std::string_view name : names) {
      if (file_.Find(name) != nullptr) return name;
    }
    return {};
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
  const auto index = [this](std::string_view name) { return Require(name, {DType::kI32, DType::kI64}); };
  batch_.table = padded.empty()
                     ? PageTable::Csr(index("kv_indptr"), index("kv_indices"), index("kv_last_page_len"))
                     : PageTable::Padded(index("block_table"), index("context_lens"));
}

void CaseFile::ReadGolden() {
  const TensorView o = Read("expected_o", {DType::kF32, DType::kF64});
  const TensorView lse = Read(kExpectedLse, {DType::kF32, DType::kF64});
  if (o.empty()) {
    if (!lse.empty()) Refuse("expected_o", "is missing, but expected_lse is there");
    return;
  }
  const int64_t rows = call_.q.shape[0];
  CheckShape(o, "expected_o", {rows, batch_.q_heads, call_.kv.head_dim_v}, "[total_q, Hq, Dv]");
  if (!lse.empty()) CheckShape(lse, kExpectedLse, {rows, batch_.q_heads}, "[total_q, Hq]");
  if (!metadata_.atol) Refuse("atol", "is missing from the metadata; expected_o needs it");
  if (!metadata_.rtol) Refuse("rtol", "is missing from the metadata; expected_o needs it");
  Golden golden;
  golden.tolerance = {*metadata_.atol, *metadata_.rtol, false};
  for (int64_t row = 0; row < rows; ++row) golden.want.rows.push_back(row);
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
  const OracleResult want = SoftmaxOracle(batch_, call_, options, &pool);
  std::vector<io::SafetensorsTensor> tensors;
  for (const io::SafetensorsTensor& t : file_.tensors()) {
    if (t.name != "expected_o" && t.name != kExpectedLse) tensors.push_back(t);
  }
  const int64_t rows = call_.q.shape[0];
  tensors.push_back({"expected_o",
                     io::SafetensorsType::kF64,
                     {rows, batch_.q_heads, call_.kv.head_dim_v},
                     std::as_bytes(std::span(want.out))});
  if (metadata_.return_lse) {
    tensors.push_back({std::string(kExpectedLse),
                       io::SafetensorsType::kF64,
                       {rows, batch_.q_heads},
                       std::as_bytes(std::span(want.lse))});
  }
  Metadata metadata = file_.metadata();
  const Tolerance usual = GateTolerance(call_.q.dtype);
  if (!metadata_.atol) metadata["atol"] = fmt::format("{}", usual.atol);
  if (!metadata_.rtol) metadata["rtol"] = fmt::format("{}", usual.rtol);
  metadata["source"] = "fp64 oracle of pagoda";
  io::WriteSafetensors(path, tensors, metadata);
}

}  // namespace pagoda::app
