// Each reader of a program's answers gives what its header promises, or throws Error or Fault and nothing
// else.
#include <cmath>
#include <string_view>

#include "app/subjects/fault.h"
#include "app/subjects/program_answer.h"
#include "fuzz/fuzz_target.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

template <typename Read>
void Try(Read read) {
  try {
    read();
  } catch (const Error& e) {
    PAGODA_FUZZ_CHECK(e.field().starts_with("step"));
  } catch (const Fault& e) {
    PAGODA_FUZZ_CHECK(std::string_view(e.what()).starts_with("step: reported an error: "));
  }
}

}  // namespace
}  // namespace pagoda::app

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pagoda::app;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  constexpr size_t kMostShown = 203;
  Try([line] { PAGODA_FUZZ_CHECK(ParseHello(line, "step").about.size() <= kMostShown); });
  Try([line] { PAGODA_FUZZ_CHECK(ParsePrepared(line, "step").value_or("").size() <= kMostShown); });
  Try([line] {
    const double ns = ParseRan(line, "step");
    PAGODA_FUZZ_CHECK(std::isfinite(ns) && ns > 0);
  });
  return 0;
}
