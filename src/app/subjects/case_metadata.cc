#include "app/subjects/case_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/suggest.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

[[noreturn]] void Refuse(std::string_view key, const std::string& complaint) {
  throw Error(ErrorCode::kInvalidArgument, key, complaint);
}

template <typename T>
T ParseWhole(std::string_view key, std::string_view text, std::string_view what) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) Refuse(key, fmt::format("= \"{}\" is out of range", text));
  if (error != std::errc() || text.empty()) Refuse(key, fmt::format("= \"{}\" is not {}", text, what));
  if (stop != end) {
    Refuse(key, fmt::format("= \"{}\" has \"{}\" behind {}", text, std::string_view(stop, end - stop), what));
  }
  return value;
}

double ParseReal(std::string_view key, std::string_view text) {
  const double value = ParseWhole<double>(key, text, "a number");
  if (!std::isfinite(value)) Refuse(key, fmt::format("= \"{}\" is not finite", text));
  return value;
}

float ParseF32(std::string_view key, std::string_view text) {
  const double value = ParseReal(key, text);
  if (std::fabs(value) > std::numeric_limits<float>::max()) {
    Refuse(key, fmt::format("= \"{}\" is out of the range of f32", text));
  }
  return static_cast<float>(value);
}

bool ParseBool(std::string_view key, std::string_view text) {
  if (text != "true" && text != "false") Refuse(key, fmt::format("= \"{}\" must be true or false", text));
  return text == "true";
}

int64_t ParseWindow(std::string_view key, std::string_view text) {
  const auto value = ParseWhole<int64_t>(key, text, "a whole number");
  if (value < -1) Refuse(key, fmt::format("= {} must be at least -1 (-1: unbounded)", value));
  return value;
}

int64_t ParseCount(std::string_view key, std::string_view text, int64_t least) {
  const auto value = ParseWhole<int64_t>(key, text, "a whole number");
  if (value < least) Refuse(key, fmt::format("= {} must be at least {}", value, least));
  return value;
}

double ParseTolerance(std::string_view key, std::string_view text) {
  const double value = ParseReal(key, text);
  if (value < 0) Refuse(key, fmt::format("= {} must not be negative", text));
  return value;
}

KvLayout ParseLayout(std::string_view key, std::string_view text) {
  if (text != "NHD" && text != "HND") Refuse(key, fmt::format("= \"{}\" must be NHD or HND", text));
  return text == "NHD" ? KvLayout::kNHD : KvLayout::kHND;
}

float ParseSoftcap(std::string_view key, std::string_view text) {
  const float value = ParseF32(key, text);
  if (value < 0) Refuse(key, fmt::format("= {} must be at least 0 (0: none)", text));
  return value;
}

HstuMask ParseMask(std::string_view key, std::string_view text) {
  constexpr std::array<std::pair<std::string_view, HstuMask>, 4> kMasks = {
      {{"none", HstuMask::kNone},
       {"causal", HstuMask::kCausal},
       {"dense", HstuMask::kDense},
       {"interval", HstuMask::kInterval}}};
  for (const auto& [name, mask] : kMasks) {
    if (text == name) return mask;
  }
  Refuse(key, fmt::format("= \"{}\" must be none, causal, dense or interval", text));
}

constexpr std::array<CaseOperator, 3> kOperators = {CaseOperator::kSoftmaxPaged, CaseOperator::kHstuPaged,
                                                    CaseOperator::kHstu};

constexpr unsigned Bit(CaseOperator op) { return 1U << static_cast<unsigned>(op); }
constexpr unsigned kSoftmaxBit = Bit(CaseOperator::kSoftmaxPaged);
constexpr unsigned kHstuBits = Bit(CaseOperator::kHstuPaged) | Bit(CaseOperator::kHstu);
constexpr unsigned kPagedBits = kSoftmaxBit | Bit(CaseOperator::kHstuPaged);
constexpr unsigned kAllBits = kSoftmaxBit | kHstuBits;

// A key, the operators that have it, and what its value sets.
struct Key {
  std::string_view name;
  unsigned operators;  // of Bit
  void (*set)(CaseMetadata& out, std::string_view key, std::string_view text);
};

void Ignore(CaseMetadata& /*out*/, std::string_view /*key*/, std::string_view /*text*/) {}

std::span<const Key> Keys() {
  using Out = CaseMetadata;
  using Text = std::string_view;
  static constexpr Key kKeys[] = {
      {"operator", kAllBits, Ignore},
      {"note", kAllBits, Ignore},
      {"format", kAllBits, Ignore},
      {"source", kAllBits, [](Out& out, Text, Text text) { out.source = text; }},
      {"atol", kAllBits, [](Out& out, Text key, Text text) { out.atol = ParseTolerance(key, text); }},
      {"rtol", kAllBits, [](Out& out, Text key, Text text) { out.rtol = ParseTolerance(key, text); }},
      {"kv_layout", kPagedBits, [](Out& out, Text key, Text text) { out.layout = ParseLayout(key, text); }},
      {"window_left", kAllBits,
       [](Out& out, Text key, Text text) {
         out.softmax.window_left = out.hstu.window_left = ParseWindow(key, text);
       }},
      {"window_right", kAllBits,
       [](Out& out, Text key, Text text) {
         out.softmax.window_right = out.hstu.window_right = ParseWindow(key, text);
       }},
      {"scale", kSoftmaxBit, [](Out& out, Text key, Text text) { out.softmax.scale = ParseF32(key, text); }},
      {"causal", kSoftmaxBit,
       [](Out& out, Text key, Text text) { out.softmax.causal = ParseBool(key, text); }},
      {"softcap", kSoftmaxBit,
       [](Out& out, Text key, Text text) { out.softmax.softcap = ParseSoftcap(key, text); }},
      {"return_lse", kSoftmaxBit,
       [](Out& out, Text key, Text text) { out.return_lse = ParseBool(key, text); }},
      {"mask", kHstuBits, [](Out& out, Text key, Text text) { out.hstu.mask = ParseMask(key, text); }},
      {"alpha", kHstuBits, [](Out& out, Text key, Text text) { out.hstu.alpha = ParseF32(key, text); }},
      {"silu_scale", kHstuBits,
       [](Out& out, Text key, Text text) { out.hstu.silu_scale = ParseF32(key, text); }},
      {"max_seq_len", kHstuBits,
       [](Out& out, Text key, Text text) { out.hstu.max_seq_len = ParseCount(key, text, 1); }},
      {"target_group_size", kHstuBits,
       [](Out& out, Text key, Text text) { out.hstu.target_group_size = ParseCount(key, text, 1); }},
      {"max_attn_len", kHstuBits,
       [](Out& out, Text key, Text text) { out.hstu.max_attn_len = ParseCount(key, text, 0); }},
      {"min_full_attn_seq_len", kHstuBits,
       [](Out& out, Text key, Text text) { out.hstu.min_full_attn_seq_len = ParseCount(key, text, 0); }},
  };
  return kKeys;
}

bool Has(const Key& key, CaseOperator op) { return (key.operators & Bit(op)) != 0; }

CaseOperator ReadOperator(const Metadata& metadata) {
  std::vector<std::string> known;
  known.reserve(kOperators.size());
  for (const CaseOperator op : kOperators) known.emplace_back(NameOf(op));
  const auto found = metadata.find("operator");
  if (found == metadata.end()) {
    Refuse("operator", fmt::format("is missing from the metadata; it must be {}", fmt::join(known, ", ")));
  }
  const auto at = std::find(known.begin(), known.end(), found->second);
  if (at == known.end()) {
    Refuse("operator", fmt::format("= \"{}\" is none of {}{}", found->second, fmt::join(known, ", "),
                                   DidYouMean(found->second, known)));
  }
  return kOperators[static_cast<size_t>(at - known.begin())];
}

// The key of that name that the operator has. Throws Error(key).
const Key& FindKey(CaseOperator op, std::string_view name, std::string_view value) {
  const std::span<const Key> keys = Keys();
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const Key& key) { return key.name == name; });
  if (found != keys.end() && Has(*found, op)) return *found;
  if (found != keys.end()) {
    const auto owner = std::find_if(kOperators.begin(), kOperators.end(),
                                    [&](CaseOperator other) { return Has(*found, other); });
    Refuse(name, fmt::format("= \"{}\" is a metadata key of {}, not of {}; remove it", value, NameOf(*owner),
                             NameOf(op)));
  }
  std::vector<std::string> known;
  for (const Key& key : keys) {
    if (Has(key, op)) known.emplace_back(key.name);
  }
  Refuse(name,
         fmt::format("= \"{}\" is not a metadata key of {}{}", value, NameOf(op), DidYouMean(name, known)));
}

}  // namespace

std::string_view NameOf(CaseOperator op) {
  switch (op) {
    case CaseOperator::kSoftmaxPaged:
      return "softmax_paged_attention";
    case CaseOperator::kHstuPaged:
      return "hstu_paged_attention";
    case CaseOperator::kHstu:
      return "hstu_attention";
  }
  return "?";
}

CaseMetadata ReadCaseMetadata(const Metadata& metadata) {
  CaseMetadata out;
  out.op = ReadOperator(metadata);
  for (const auto& [name, value] : metadata) FindKey(out.op, name, value).set(out, name, value);
  if (out.op != CaseOperator::kSoftmaxPaged && out.hstu.silu_scale == 0 && out.hstu.max_seq_len == 0) {
    Refuse("max_seq_len",
           "is missing from the metadata: give it or silu_scale, which is 1 / max_seq_len otherwise");
  }
  return out;
}

}  // namespace pagoda::app
