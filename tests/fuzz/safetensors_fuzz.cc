// A file that SafetensorsFile accepts holds what it promises: tensors that cover the data in order, each as
// long as its shape says. Anything else is refused with Error and nothing else.
#include <cstddef>
#include <span>

#include "base/io/safetensors.h"
#include "fuzz/fuzz_target.h"
#include "pagoda/status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pagoda;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  try {
    const io::SafetensorsFile file = io::SafetensorsFile::Parse(bytes, "input");
    const std::byte* end = file.tensors().empty() ? bytes.data() + size : file.tensors().front().bytes.data();
    for (const io::SafetensorsTensor& t : file.tensors()) {
      PAGODA_FUZZ_CHECK(t.bytes.data() == end);
      PAGODA_FUZZ_CHECK(static_cast<int64_t>(t.bytes.size()) == t.elements() * SizeOf(t.type));
      PAGODA_FUZZ_CHECK(file.Find(t.name) == &t);
      end = t.bytes.data() + t.bytes.size();
    }
    PAGODA_FUZZ_CHECK(end == bytes.data() + size);
  } catch (const Error& e) {
    PAGODA_FUZZ_CHECK(e.field().starts_with("input"));
  }
  return 0;
}
