// ParseTrace gives requests within the bounds that its header states, or throws Error and nothing else.
#include <cstdint>
#include <string_view>

#include "base/io/trace.h"
#include "fuzz/fuzz_target.h"
#include "pagoda/status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pagoda;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const io::RequestTrace trace = io::ParseTrace(text, "input");
    PAGODA_FUZZ_CHECK(!trace.requests.empty());
    for (const io::TraceRequest& r : trace.requests) {
      for (const int64_t tokens : {r.input_tokens, r.output_tokens}) {
        PAGODA_FUZZ_CHECK(tokens >= 1 && tokens <= io::RequestTrace::kMostTokens);
      }
      const auto covered = static_cast<int64_t>(r.blocks.size()) * io::RequestTrace::kBlockTokens;
      PAGODA_FUZZ_CHECK(trace.has_blocks ? covered >= r.input_tokens : covered == 0);
    }
  } catch (const Error& e) {
    PAGODA_FUZZ_CHECK(e.field().starts_with("input"));
  }
  return 0;
}
