// Traces of requests to language models: how many tokens came in and went out, and which prefixes were equal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace pagoda::io {

struct TraceRequest {
  int64_t input_tokens = 0;
  int64_t output_tokens = 0;
  // One id for each block of the input, the last one perhaps partial: equal ids stand for equal tokens behind
  // equal prefixes. Empty where the trace doesn't say.
  std::vector<int64_t> blocks;
};

struct RequestTrace {
  static constexpr int64_t kBlockTokens = 512;
  static constexpr int64_t kMostTokens = int64_t{1} << 20;  // of an input or an output

  std::string source;                  // the file, for messages
  std::vector<TraceRequest> requests;  // in the order of the file, at least one
  bool has_blocks = false;
};

// Either of two forms, told apart by the first character:
//   Azure Public Dataset, LLM inference traces: CSV with the header TIMESTAMP,ContextTokens,GeneratedTokens
//   Mooncake: a JSON object on each line with input_length, output_length, hash_ids; other keys are ignored
// Timestamps are not read. Throws Error (kInvalidArgument) with the field "FILE:LINE: ContextTokens".
RequestTrace ParseTrace(std::string_view text, std::string_view source);
// The same for a file of at most 256 MiB.
RequestTrace ReadTrace(const std::filesystem::path& path);

}  // namespace pagoda::io
