#include "judge/bench/case_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include "base/hash.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

constexpr int64_t kMaxBatch = 65536;
constexpr int64_t kMaxKeys = int64_t{1} << 30;
constexpr int64_t kMaxHeads = 65536;
constexpr int64_t kMaxHeadDim = 65536;
// Of a whole case. What no machine holds must not be laid out to find that out.
constexpr int64_t kMaxAllKeys = int64_t{1} << 30;
constexpr int64_t kMaxPages = int64_t{1} << 24;
constexpr double kMaxElements = 0x1p58;  // of a tensor: its bytes fit 64 bits
constexpr std::array kFloatTypes = {DType::kF32, DType::kF16, DType::kBF16};

std::string PhaseText(const std::vector<int64_t>& queries) {
  const std::string rows = LengthsText(queries);
  return rows == "1" ? "decode" : "q" + rows;
}

// Reads a name from left to right.
class NameReader {
 public:
  explicit NameReader(std::string_view name) : name_(name), rest_(name) {}

  [[noreturn]] void Fail(std::string_view expected) const {
    throw Error(ErrorCode::kInvalidArgument, "case name",
                fmt::format("\"{}\" has \"{}\" at character {}, where {} was expected", name_,
                            rest_.substr(0, rest_.find('_', 1)), name_.size() - rest_.size() + 1, expected));
  }

  bool Skip(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  // Like Skip, but only a whole part: up to the next "_" or the end.
  bool SkipPart(std::string_view part) {
    if (rest_.substr(0, rest_.find('_', 1)) != part) return false;
    rest_.remove_prefix(part.size());
    return true;
  }
  void Expect(std::string_view text, std::string_view what) {
    if (!Skip(text)) Fail(what);
  }
  int64_t Integer(std::string_view what, int64_t least, int64_t most) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < least || value > most) {
      Fail(fmt::format("{} in {}..{}", what, least, most));
    }
    rest_.remove_prefix(end - rest_.data());
    return value;
  }
  double Real(std::string_view what) {
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || !std::isfinite(value)) Fail(what);
    rest_.remove_prefix(end - rest_.data());
    return value;
  }
  std::vector<int64_t> Lengths(std::string_view what, int64_t batch) {
    std::vector<int64_t> lengths;
    do {
      const int64_t value = Integer(what, 0, kMaxKeys);
      const int64_t times = Skip("x") ? Integer("a repeat count", 2, batch) : 1;
      if (static_cast<int64_t>(lengths.size()) + times > batch) Fail(fmt::format("{} lengths in all", batch));
      lengths.insert(lengths.end(), times, value);
    } while (Skip("-"));
    if (lengths.size() == 1) lengths.assign(batch, lengths.front());
    if (static_cast<int64_t>(lengths.size()) != batch) Fail(fmt::format("{} lengths in all", batch));
    return lengths;
  }
  DType FloatType() {
    for (DType t : kFloatTypes) {
      if (Skip(NameOf(t))) return t;
    }
    Fail("f32, f16 or bf16");
  }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view name_, rest_;
};

void Require(bool holds, std::string_view field, const std::string& complaint) {
  if (!holds) throw Error(ErrorCode::kInvalidArgument, field, complaint);
}

void RequireWithin(std::string_view field, int64_t value, int64_t least, int64_t most) {
  Require(value >= least && value <= most, field, fmt::format("= {} is outside {}..{}", value, least, most));
}

void CheckBlocks(const CaseSpec& spec) {
  if (spec.blocks.empty()) return;
  Require(CaseSpec::kBlockKeys % spec.page_size == 0, "page_size",
          fmt::format("= {} doesn't divide the {} tokens of a block, whose pages sequences share",
                      spec.page_size, CaseSpec::kBlockKeys));
  Require(spec.blocks.size() == spec.contexts.size(), "blocks",
          fmt::format("has {} lists for {} sequences", spec.blocks.size(), spec.contexts.size()));
  for (size_t i = 0; i < spec.blocks.size(); ++i) {
    const int64_t blocks = (spec.contexts[i] + CaseSpec::kBlockKeys - 1) / CaseSpec::kBlockKeys;
    Require(std::ssize(spec.blocks[i]) == blocks, fmt::format("blocks[{}]", i),
            fmt::format("has {} ids, but {} keys are {} blocks of {}", spec.blocks[i].size(),
                        spec.contexts[i], blocks, CaseSpec::kBlockKeys));
  }
}

// Equal ids are the same pages, so all of them count; they are too many to list.
std::string BlocksText(const std::vector<std::vector<int64_t>>& blocks) {
  if (blocks.empty()) return "none";
  uint64_t hash = kHashOfNothing;
  for (const std::vector<int64_t>& ids : blocks) {
    const int64_t size = std::ssize(ids);
    hash = HashOf(std::as_bytes(std::span(ids)), HashOf(std::as_bytes(std::span(&size, 1)), hash));
  }
  return fmt::format("{:016x}", hash);
}

// Only what the operator has, and of HSTU only what goes together.
void CheckOperator(const CaseSpec& spec) {
  const auto only_of = [&](CaseOp op, bool given, std::string_view field) {
    Require(!given || spec.op == op, field, fmt::format("is of {}, not of {}", NameOf(op), NameOf(spec.op)));
  };
  only_of(CaseOp::kSoftmaxPaged, !spec.blocks.empty(), "blocks");
  only_of(CaseOp::kSoftmaxPaged, spec.softcap != 0, "softcap");
  only_of(CaseOp::kSoftmaxPaged, spec.alibi, "alibi");
  only_of(CaseOp::kSoftmaxPaged, spec.sinks, "sinks");
  only_of(CaseOp::kHstuPaged, spec.targets != 0, "targets");
  only_of(CaseOp::kHstuPaged, spec.target_group != 1, "target_group");
  only_of(CaseOp::kHstuPaged, spec.contextual != 0, "contextual");
  only_of(CaseOp::kHstuPaged, spec.max_attn_len != 0, "max_attn_len");
  only_of(CaseOp::kHstuPaged, spec.min_full_attn_seq_len != 0, "min_full_attn_seq_len");
  only_of(CaseOp::kHstuPaged, spec.rab, "rab");
  if (spec.op != CaseOp::kHstuPaged) return;
  RequireWithin("target_group", spec.target_group, 1, kMaxKeys);
  RequireWithin("max_attn_len", spec.max_attn_len, 0, kMaxKeys);
  RequireWithin("min_full_attn_seq_len", spec.min_full_attn_seq_len, 0, kMaxKeys);
  for (size_t i = 0; i < spec.contexts.size(); ++i) {
    RequireWithin("targets", spec.targets, 0, spec.queries[i]);
    RequireWithin("contextual", spec.contextual, 0, spec.contexts[i] - spec.targets);
    RequireWithin(fmt::format("queries[{}]", i), spec.queries[i], 0, spec.contexts[i]);
  }
  const bool window = spec.window_left >= 0 || spec.window_right >= 0;
  Require(spec.causal || (spec.target_group == 1 && spec.contextual == 0 && spec.max_attn_len == 0), "causal",
          "= false goes with a window only, not with target_group, contextual or max_attn_len");
  Require(spec.max_attn_len == 0 || (!window && spec.target_group == 1), "max_attn_len",
          "can't go with a window or target_group");
}

}  // namespace

std::string_view NameOf(CaseOp op) {
  switch (op) {
    case CaseOp::kHstuPaged:
      return "hstu_paged_attention";
    case CaseOp::kHstu:
      return "hstu_attention";
    case CaseOp::kSoftmaxPaged:
      break;
  }
  return "softmax_paged_attention";
}

std::string LengthsText(const std::vector<int64_t>& lengths) {
  const bool equal =
      std::adjacent_find(lengths.begin(), lengths.end(), std::not_equal_to<>()) == lengths.end();
  if (equal && !lengths.empty()) return fmt::format("{}", lengths.front());
  std::string text;
  for (auto run = lengths.begin(); run != lengths.end();) {
    const auto end = std::find_if(run, lengths.end(), [&](int64_t n) { return n != *run; });
    if (!text.empty()) text += '-';
    text += fmt::format("{}", *run);
    if (end - run > 1) text += fmt::format("x{}", end - run);
    run = end;
  }
  return text;
}

Definition ProblemOf(const CaseSpec& spec) {
  const auto yes = [](bool set) { return set ? "yes" : "no"; };
  const auto number = [](auto value) { return fmt::format("{}", value); };
  Definition problem = {{"op", std::string(NameOf(spec.op))},
                        {"batch", number(spec.contexts.size())},
                        {"contexts", LengthsText(spec.contexts)},
                        {"queries", LengthsText(spec.queries)},
                        {"shared blocks", BlocksText(spec.blocks)},
                        {"q_heads", number(spec.q_heads)},
                        {"kv_heads", number(spec.kv_heads)},
                        {"head_dim", number(spec.head_dim)},
                        {"head_dim_v", number(spec.head_dim_v)},
                        {"page_size", number(spec.page_size)},
                        {"layout", spec.hnd ? "HND" : "NHD"},
                        {"combined", yes(spec.combined)},
                        {"table", spec.padded ? "padded" : "csr"},
                        {"index", spec.index64 ? "i64" : "i32"},
                        {"causal", yes(spec.causal)},
                        {"window_left", number(spec.window_left)},
                        {"window_right", number(spec.window_right)},
                        {"softcap", number(spec.softcap)},
                        {"alibi", yes(spec.alibi)},
                        {"sinks", yes(spec.sinks)},
                        {"targets", number(spec.targets)},
                        {"target_group", number(spec.target_group)},
                        {"contextual", number(spec.contextual)},
                        {"max_attn_len", number(spec.max_attn_len)},
                        {"min_full_attn_seq_len", number(spec.min_full_attn_seq_len)},
                        {"rab", yes(spec.rab)},
                        {"atol", number(spec.atol)},
                        {"rtol", number(spec.rtol)},
                        {"case file", spec.file ? spec.file->hash : "none"}};
  if (!spec.file) return problem;
  for (const char* key : {"causal", "window_left", "window_right", "targets", "target_group", "contextual",
                          "max_attn_len", "min_full_attn_seq_len", "rab"}) {
    problem[key] = "of the case file";
  }
  return problem;
}

std::string CaseName(const CaseSpec& spec) {
  return CaseName(spec, fmt::format("s{}", LengthsText(spec.contexts)), PhaseText(spec.queries));
}

std::string CaseName(const CaseSpec& spec, std::string_view lengths, std::string_view phase) {
  std::string name = fmt::format("{}b{}_h{}_kv{}_{}_bs{}_hd{}_{}_{}", IsHstu(spec.op) ? "hstu_" : "",
                                 spec.contexts.size(), spec.q_heads, spec.kv_heads, lengths, spec.page_size,
                                 spec.head_dim, NameOf(spec.dtype), phase);
  if (spec.head_dim_v != spec.head_dim) name += fmt::format("_dv{}", spec.head_dim_v);
  if (spec.hnd) name += "_hnd";
  if (spec.combined) name += "_combined";
  if (spec.padded) name += "_padded";
  if (spec.index64) name += "_i64";
  if (!spec.causal) name += "_noncausal";
  if (spec.window_left >= 0) name += fmt::format("_wl{}", spec.window_left);
  if (spec.window_right >= 0) name += fmt::format("_wr{}", spec.window_right);
  if (spec.softcap != 0) name += fmt::format("_cap{}", spec.softcap);
  if (spec.alibi) name += "_alibi";
  if (spec.sinks) name += "_sinks";
  if (spec.targets > 0) name += fmt::format("_t{}", spec.targets);
  if (spec.target_group > 1) name += fmt::format("_g{}", spec.target_group);
  if (spec.contextual > 0) name += fmt::format("_c{}", spec.contextual);
  if (spec.max_attn_len > 0) name += fmt::format("_al{}", spec.max_attn_len);
  if (spec.min_full_attn_seq_len > 0) name += fmt::format("_fa{}", spec.min_full_attn_seq_len);
  if (spec.rab) name += "_rab";
  if (!spec.cold) name += "_warm";
  return name;
}

CaseSpec ParseCaseName(std::string_view name) {
  NameReader in(name);
  CaseSpec spec;
  if (in.Skip("hstu_")) spec.op = CaseOp::kHstuPaged;
  in.Expect("b", "b<batch>");
  const int64_t batch = in.Integer("a batch size", 1, kMaxBatch);
  in.Expect("_h", "_h<query heads>");
  spec.q_heads = in.Integer("a number of heads", 1, kMaxHeads);
  in.Expect("_kv", "_kv<kv heads>");
  spec.kv_heads = in.Integer("a number of heads", 1, kMaxHeads);
  in.Expect("_s", "_s<context>");
  spec.contexts = in.Lengths("a number of keys", batch);
  in.Expect("_bs", "_bs<page size>");
  spec.page_size = in.Integer("a page size", 1, kMaxKeys);
  in.Expect("_hd", "_hd<head dim>");
  spec.head_dim = spec.head_dim_v = in.Integer("a head dim", 1, kMaxHeadDim);
  in.Expect("_", "_<dtype>");
  spec.dtype = in.FloatType();
  if (in.SkipPart("_decode")) {
    spec.queries.assign(batch, 1);
  } else {
    in.Expect("_q", "_decode or _q<rows>");
    spec.queries = in.Lengths("a number of query rows", batch);
  }
  if (in.Skip("_dv")) spec.head_dim_v = in.Integer("a head dim of V", 1, kMaxHeadDim);
  spec.hnd = in.SkipPart("_hnd");
  spec.combined = in.SkipPart("_combined");
  spec.padded = in.SkipPart("_padded");
  spec.index64 = in.SkipPart("_i64");
  spec.causal = !in.SkipPart("_noncausal");
  if (in.Skip("_wl")) spec.window_left = in.Integer("a window", 0, kMaxKeys);
  if (in.Skip("_wr")) spec.window_right = in.Integer("a window", 0, kMaxKeys);
  if (spec.op == CaseOp::kSoftmaxPaged) {
    if (in.Skip("_cap")) spec.softcap = in.Real("a softcap");
    spec.alibi = in.SkipPart("_alibi");
    spec.sinks = in.SkipPart("_sinks");
  } else {
    if (in.Skip("_t")) spec.targets = in.Integer("a number of targets", 1, kMaxKeys);
    if (in.Skip("_g")) spec.target_group = in.Integer("a group of targets", 2, kMaxKeys);
    if (in.Skip("_c")) spec.contextual = in.Integer("a number of contextual rows", 1, kMaxKeys);
    if (in.Skip("_al")) spec.max_attn_len = in.Integer("a number of keys", 1, kMaxKeys);
    if (in.Skip("_fa")) spec.min_full_attn_seq_len = in.Integer("a number of rows", 1, kMaxKeys);
    spec.rab = in.SkipPart("_rab");
  }
  spec.cold = !in.SkipPart("_warm");
  if (!in.done()) {
    in.Fail(fmt::format("one of _dv _hnd _combined _padded _i64 _noncausal _wl _wr {} _warm, in this order,",
                        spec.op == CaseOp::kSoftmaxPaged ? "_cap _alibi _sinks" : "_t _g _c _al _fa _rab"));
  }
  CheckCase(spec);
  spec.name = CaseName(spec);
  // Two spellings of one case would be two cases to a selection and to a resumed run.
  Require(spec.name == name, "case name", fmt::format("\"{}\" is written \"{}\"", name, spec.name));
  return spec;
}

namespace {

// That lengths, pages and tensors of the whole batch stay within what can be laid out.
void CheckSize(const CaseSpec& spec) {
  int64_t keys = 0, rows = 0, pages = 0, most_pages = 0;
  for (size_t b = 0; b < spec.contexts.size(); ++b) {
    keys += spec.contexts[b];
    rows += spec.queries[b];
    const int64_t own = (spec.contexts[b] + spec.page_size - 1) / spec.page_size;
    pages += own;
    most_pages = std::max(most_pages, own);
  }
  Require(keys <= kMaxAllKeys, "context",
          fmt::format("gives {} keys over the {} sequences of the batch, more than {}; take fewer of either",
                      keys, spec.contexts.size(), kMaxAllKeys));
  if (spec.padded) pages = most_pages * std::ssize(spec.contexts);
  Require(pages <= kMaxPages, "page_size",
          fmt::format("= {} gives a table of {} pages, more than {}; take larger pages, or fewer keys or "
                      "sequences",
                      spec.page_size, pages, kMaxPages));
  const auto dims = static_cast<double>(spec.head_dim + spec.head_dim_v);
  const double cache =
      static_cast<double>(pages * spec.page_size) * static_cast<double>(spec.kv_heads) * dims;
  Require(cache <= kMaxElements, "page_size",
          fmt::format("= {} gives a cache of {:.3g} elements, more than {:.3g}; take smaller pages, or fewer "
                      "heads",
                      spec.page_size, cache, kMaxElements));
  const double queries = static_cast<double>(rows) * static_cast<double>(spec.q_heads) * dims;
  Require(
      queries <= kMaxElements, "queries",
      fmt::format("give {:.3g} elements, more than {:.3g}; take fewer rows or heads", queries, kMaxElements));
}

}  // namespace

void CheckCase(const CaseSpec& spec) {
  RequireWithin("batch", static_cast<int64_t>(spec.contexts.size()), 1, kMaxBatch);
  Require(spec.queries.size() == spec.contexts.size(), "queries",
          fmt::format("has {} lengths for {} sequences", spec.queries.size(), spec.contexts.size()));
  for (size_t i = 0; i < spec.contexts.size(); ++i) {
    RequireWithin(fmt::format("context[{}]", i), spec.contexts[i], 0, kMaxKeys);
    RequireWithin(fmt::format("queries[{}]", i), spec.queries[i], 0, kMaxKeys);
  }
  Require(std::any_of(spec.queries.begin(), spec.queries.end(), [](int64_t rows) { return rows > 0; }),
          "queries", "are 0 in every sequence, so there is nothing to compute");
  RequireWithin("kv_heads", spec.kv_heads, 1, kMaxHeads);
  RequireWithin("q_heads", spec.q_heads, 1, kMaxHeads);
  Require(spec.q_heads % spec.kv_heads == 0, "q_heads",
          fmt::format("= {} is not a multiple of kv_heads = {}", spec.q_heads, spec.kv_heads));
  RequireWithin("head_dim", spec.head_dim, 1, kMaxHeadDim);
  RequireWithin("head_dim_v", spec.head_dim_v, 1, kMaxHeadDim);
  Require(!spec.combined || spec.head_dim_v == spec.head_dim, "head_dim_v",
          fmt::format("= {} differs from head_dim = {}, which a combined K and V cache can't hold",
                      spec.head_dim_v, spec.head_dim));
  RequireWithin("page_size", spec.page_size, 1, kMaxKeys);
  CheckSize(spec);
  CheckBlocks(spec);
  RequireWithin("window_left", spec.window_left, -1, kMaxKeys);
  RequireWithin("window_right", spec.window_right, -1, kMaxKeys);
  Require(IsFloat(spec.dtype), "dtype", fmt::format("= {} is not f32, f16 or bf16", NameOf(spec.dtype)));
  for (const auto& [field, value] :
       {std::pair{"softcap", spec.softcap}, {"atol", spec.atol}, {"rtol", spec.rtol}}) {
    Require(std::isfinite(value) && value >= 0, field, fmt::format("= {} is not a number from 0 up", value));
  }
  CheckOperator(spec);
  Require(std::isfinite(spec.weight) && spec.weight > 0, "weight",
          fmt::format("= {} is not a number above 0", spec.weight));
}

}  // namespace pagoda::judge
