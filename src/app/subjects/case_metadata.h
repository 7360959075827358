// The parameters of a case file: strings in its metadata, each checked to the last character.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "pagoda/paged_kv.h"
#include "pagoda/softmax.h"

namespace pagoda::app {

using Metadata = std::map<std::string, std::string>;

struct SoftmaxMetadata {
  KvLayout layout = KvLayout::kNHD;
  SoftmaxParams params;
  bool return_lse = true;
  std::optional<double> atol, rtol;
  std::string source;  // free text: who made the expectation
};

// Throws Error naming the key: an operator that does not exist (kUnsupported for one that is not built yet),
// a key that is unknown or another operator's, a value that is not what the key wants, not finite, out of
// range or has something behind it.
SoftmaxMetadata ReadSoftmaxMetadata(const Metadata& metadata);

}  // namespace pagoda::app
