// TomlTable::Parse gives a table whose every key can be asked for as every type, or throws Error and nothing
// else.
#include <string>
#include <string_view>

#include "base/io/toml.h"
#include "fuzz/fuzz_target.h"

namespace pagoda::io {
namespace {

// Whether the getter gave a value; any exception but Error ends the program.
template <typename Get>
bool Gives(Get get) {
  try {
    get();
    return true;
  } catch (const Error& e) {
    PAGODA_FUZZ_CHECK(e.field().starts_with("input:"));
    return false;
  }
}

void Walk(const TomlTable& table) {
  for (const std::string& key : table.Keys()) {
    PAGODA_FUZZ_CHECK(table.Has(key));
    int scalars = 0;
    scalars += Gives([&] { table.Int(key); }) ? 1 : 0;
    scalars += Gives([&] { table.String(key); }) ? 1 : 0;
    scalars += Gives([&] { table.Bool(key); }) ? 1 : 0;
    PAGODA_FUZZ_CHECK(scalars <= 1);
    Gives([&] { table.Number(key); });
    Gives([&] { table.Ints(key); });
    Gives([&] { table.Numbers(key); });
    Gives([&] { table.Strings(key); });
    if (Gives([&] { table.Table(key); })) Walk(table.Table(key));
    if (Gives([&] { table.Tables(key); })) {
      for (const TomlTable& element : table.Tables(key)) Walk(element);
    }
  }
  PAGODA_FUZZ_CHECK(Gives([&] { table.RefuseUnknownKeys({"name"}); }) ==
                    (table.Keys().empty() || table.Keys() == std::vector<std::string>{"name"}));
}

}  // namespace
}  // namespace pagoda::io

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pagoda;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    io::Walk(io::TomlTable::Parse(text, "input"));
  } catch (const Error& e) {
    PAGODA_FUZZ_CHECK(e.field().starts_with("input:"));
  }
  return 0;
}
