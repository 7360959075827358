// ParseJson gives a value that survives printing and parsing again, or throws Error and nothing else.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/io/json.h"
#include "fuzz/fuzz_target.h"

namespace pagoda::io {
namespace {

int DepthOf(const nlohmann::json& value) {
  int depth = 0;
  if (!value.is_structured()) return depth;
  for (const auto& element : value) depth = std::max(depth, DepthOf(element));
  return depth + 1;
}

void Walk(const JsonField& field) {
  if (field.value().is_array()) {
    for (const JsonField& element : field.Elements()) Walk(element);
  } else if (field.value().is_object()) {
    for (const std::string& key : field.Keys()) Walk(field.At(key));
  } else {
    try {
      field.Int();
      field.String();
    } catch (const Error& e) {
      PAGODA_FUZZ_CHECK(e.field() == field.path());
    }
  }
}

}  // namespace
}  // namespace pagoda::io

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pagoda;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const io::JsonLimits limits{.max_depth = 16};
  nlohmann::json value;
  try {
    value = io::ParseJson(text, "input", limits);
  } catch (const Error& e) {
    PAGODA_FUZZ_CHECK(e.field() == "input");
    return 0;
  }
  PAGODA_FUZZ_CHECK(io::DepthOf(value) <= limits.max_depth);
  PAGODA_FUZZ_CHECK(io::ParseJson(value.dump(), "again", limits) == value);
  io::Walk(io::JsonField(value, "input"));
  return 0;
}
