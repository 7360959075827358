#include "app/subjects/case_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "base/suggest.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

constexpr std::string_view kSoftmax = "softmax_paged_attention";
constexpr std::array<std::string_view, 2> kHstu = {"hstu_paged_attention", "hstu_attention"};
constexpr std::array<std::string_view, 6> kCommonKeys = {"operator", "note", "source",
                                                         "format",   "atol", "rtol"};
constexpr std::array<std::string_view, 7> kSoftmaxKeys = {
    "kv_layout", "scale", "causal", "window_left", "window_right", "softcap", "return_lse"};
constexpr std::array<std::string_view, 7> kHstuOnlyKeys = {"mask",
                                                           "alpha",
                                                           "silu_scale",
                                                           "max_seq_len",
                                                           "target_group_size",
                                                           "max_attn_len",
                                                           "min_full_attn_seq_len"};

[[noreturn]] void Refuse(std::string_view key, const std::string& complaint) {
  throw Error(ErrorCode::kInvalidArgument, key, complaint);
}

template <typename Names>
bool Contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void CheckOperator(const Metadata& metadata) {
  std::vector<std::string> known{std::string(kSoftmax)};
  known.insert(known.end(), kHstu.begin(), kHstu.end());
  const auto found = metadata.find("operator");
  if (found == metadata.end()) {
    Refuse("operator", fmt::format("is missing from the metadata; it must be {}", fmt::join(known, ", ")));
  }
  if (found->second == kSoftmax) return;
  if (Contains(kHstu, found->second)) {
    throw Error(ErrorCode::kUnsupported, "operator",
                fmt::format("= {} is not built yet; this version computes {}", found->second, kSoftmax));
  }
  Refuse("operator", fmt::format("= \"{}\" is none of {}{}", found->second, fmt::join(known, ", "),
                                 DidYouMean(found->second, known)));
}

void CheckKeys(const Metadata& metadata) {
  std::vector<std::string> known(kSoftmaxKeys.begin(), kSoftmaxKeys.end());
  known.insert(known.end(), kCommonKeys.begin(), kCommonKeys.end());
  for (const auto& [key, value] : metadata) {
    if (Contains(known, key)) continue;
    if (Contains(kHstuOnlyKeys, key)) {
      Refuse(key, fmt::format("= \"{}\" is a metadata key of HSTU, not of {}; remove it", value, kSoftmax));
    }
    Refuse(key,
           fmt::format("= \"{}\" is not a metadata key of {}{}", value, kSoftmax, DidYouMean(key, known)));
  }
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

double ParseTolerance(std::string_view key, std::string_view text) {
  const double value = ParseReal(key, text);
  if (value < 0) Refuse(key, fmt::format("= {} must not be negative", text));
  return value;
}

}  // namespace

SoftmaxMetadata ReadSoftmaxMetadata(const Metadata& metadata) {
  CheckOperator(metadata);
  CheckKeys(metadata);
  SoftmaxMetadata out;
  for (const auto& [key, value] : metadata) {
    if (key == "kv_layout") {
      if (value != "NHD" && value != "HND") Refuse(key, fmt::format("= \"{}\" must be NHD or HND", value));
      out.layout = value == "NHD" ? KvLayout::kNHD : KvLayout::kHND;
    } else if (key == "scale") {
      out.params.scale = ParseF32(key, value);
    } else if (key == "causal") {
      out.params.causal = ParseBool(key, value);
    } else if (key == "window_left") {
      out.params.window_left = ParseWindow(key, value);
    } else if (key == "window_right") {
      out.params.window_right = ParseWindow(key, value);
    } else if (key == "softcap") {
      out.params.softcap = ParseF32(key, value);
      if (out.params.softcap < 0) Refuse(key, fmt::format("= {} must be at least 0 (0: none)", value));
    } else if (key == "return_lse") {
      out.return_lse = ParseBool(key, value);
    } else if (key == "atol") {
      out.atol = ParseTolerance(key, value);
    } else if (key == "rtol") {
      out.rtol = ParseTolerance(key, value);
    } else if (key == "source") {
      out.source = value;
    }
  }
  return out;
}

}  // namespace pagoda::app
