// The parameters of a case file: strings in its metadata, each checked to the last character.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pagoda/hstu.h"
#include "pagoda/paged_kv.h"
#include "pagoda/softmax.h"

namespace pagoda::app {

using Metadata = std::map<std::string, std::string>;

enum class CaseOperator : uint8_t { kSoftmaxPaged, kHstuPaged, kHstu };

// "softmax_paged_attention", "hstu_paged_attention", "hstu_attention".
std::string_view NameOf(CaseOperator op);

struct CaseMetadata {
  CaseOperator op = CaseOperator::kSoftmaxPaged;
  KvLayout layout = KvLayout::kNHD;
  SoftmaxParams softmax;  // of kSoftmaxPaged
  bool return_lse = true;
  HstuParams hstu;  // of the others
  std::optional<double> atol, rtol;
  std::string source;  // free text: who made the expectation
};

// Throws Error naming the key: an operator that does not exist, a key that is unknown or another operator's,
// a value that is not what the key wants, not finite, out of range or has something behind it.
CaseMetadata ReadCaseMetadata(const Metadata& metadata);

}  // namespace pagoda::app
