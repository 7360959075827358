#include "judge/bench/lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <span>

#include "base/random.h"
#include "pagoda/status.h"

namespace pagoda::judge {

void CheckQuantiles(const LengthQuantiles& quantiles) {
  const std::vector<double>& shares = quantiles.shares;
  const std::vector<int64_t>& tokens = quantiles.tokens;
  const auto refuse = [](const char* field, const std::string& complaint) {
    throw Error(ErrorCode::kInvalidArgument, field, complaint);
  };
  if (shares.size() < 2 || shares.front() != 0 || shares.back() != 1) {
    refuse("quantiles", "must go from 0 to 1");
  }
  if (std::adjacent_find(shares.begin(), shares.end(), std::greater_equal<>()) != shares.end()) {
    refuse("quantiles", "must rise from each to the next");
  }
  if (tokens.size() != shares.size()) {
    refuse("tokens", fmt::format("has {} values for {} quantiles", tokens.size(), shares.size()));
  }
  if (!std::is_sorted(tokens.begin(), tokens.end())) refuse("tokens", "must not fall");
  for (const int64_t value : {tokens.front(), tokens.back()}) {
    if (value < 1 || value > io::RequestTrace::kMostTokens) {
      refuse("tokens", fmt::format("holds {}, which is outside 1..{}", value, io::RequestTrace::kMostTokens));
    }
  }
}

std::vector<int64_t> DrawLengths(const LengthQuantiles& quantiles, int64_t batch, uint64_t seed) {
  const std::vector<double>& shares = quantiles.shares;
  Random random(seed);
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < batch; ++i) {
    const double share = (static_cast<double>(i) + random.Uniform()) / static_cast<double>(batch);
    // The end stays out: the sum may round to the next whole number.
    const auto above = std::upper_bound(shares.begin(), shares.end() - 1, share) - shares.begin();
    const auto low = static_cast<double>(quantiles.tokens[above - 1]);
    const auto high = static_cast<double>(quantiles.tokens[above]);
    const double part = (share - shares[above - 1]) / (shares[above] - shares[above - 1]);
    lengths.push_back(std::llround(low * std::pow(high / low, part)));
  }
  random.Shuffle(std::span(lengths));
  return lengths;
}

TraceBatch TakeBatch(const io::RequestTrace& trace, int64_t batch, uint64_t seed) {
  const int64_t requests = std::ssize(trace.requests);
  if (requests < batch) {
    throw Error(ErrorCode::kInvalidArgument, "--trace",
                fmt::format("= {} holds {} requests, fewer than the {} sequences of a batch", trace.source,
                            requests, batch));
  }
  TraceBatch taken;
  const int64_t first = Random(seed).Between(0, requests - batch);
  for (int64_t i = first; i < first + batch; ++i) {
    const io::TraceRequest& request = trace.requests[i];
    taken.contexts.push_back(request.input_tokens);
    if (trace.has_blocks) taken.blocks.push_back(request.blocks);
  }
  return taken;
}

std::string TraceLabel(const io::RequestTrace& trace) {
  constexpr size_t kLongest = 40;
  std::string label = std::filesystem::path(trace.source).stem().string().substr(0, kLongest);
  for (char& c : label) {
    const bool legal = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '_' || c == '.' || c == '-';
    if (!legal) c = '-';
  }
  return label;
}

}  // namespace pagoda::judge
