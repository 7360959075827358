// DecodeMachine gives rates that survive printing and reading again, or throws Error and nothing else.
#include <optional>
#include <string_view>

#include "app/subjects/machine_codec.h"
#include "fuzz/fuzz_target.h"
#include "pagoda/status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pagoda;
  const app::MachineIdentity identity{"cpu", "avx2", 2};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::optional<MachineModel> model;
  try {
    model = app::DecodeMachine(text, "input", identity);
  } catch (const Error& e) {
    PAGODA_FUZZ_CHECK(e.field().starts_with("input"));
    return 0;
  }
  if (!model) return 0;
  const std::string again = app::EncodeMachine(*model, identity);
  const std::optional<MachineModel> read = app::DecodeMachine(again, "again", identity);
  PAGODA_FUZZ_CHECK(read && app::EncodeMachine(*read, identity) == again);
  return 0;
}
