#include "base/io/toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <tuple>
#include <utility>

#include "base/io/mapped_file.h"
#include "base/io/shown.h"
#include "base/suggest.h"

namespace pagoda::io {

struct TomlTable::Document {
  std::string source;
  toml::table root;
};

// What the getters share; here, so that the header needs no toml++.
struct TomlTable::Access {
  static const toml::table& Of(const TomlTable& t) { return *static_cast<const toml::table*>(t.table_); }

  static std::string PathOf(const TomlTable& t, std::string_view key) {
    return t.path_.empty() ? Shown(key) : fmt::format("{}.{}", t.path_, Shown(key));
  }

  static Error ErrorAt(const TomlTable& t, const toml::node& node, std::string_view path,
                       std::string_view complaint) {
    const toml::source_position& at = node.source().begin;
    return {ErrorCode::kInvalidArgument,
            fmt::format("{}:{}:{}: {}", t.document_->source, at.line, at.column, path), complaint};
  }

  static const toml::node& Require(const TomlTable& t, std::string_view key) {
    if (const toml::node* node = Of(t).get(key)) return *node;
    throw ErrorAt(t, Of(t), PathOf(t, key), "is missing");
  }

  static std::string ShownValue(const toml::node& node) {
    if (node.is_table()) return "a table";
    if (node.is_array()) return "an array";
    if (node.is_string()) return fmt::format("\"{}\"", Shown(node.as_string()->get()));
    std::ostringstream text;
    node.visit([&](const auto& value) {
      if constexpr (toml::is_value<decltype(value)>) text << value;
    });
    return Shown(text.str());
  }

  [[noreturn]] static void ThrowType(const TomlTable& t, const toml::node& node, std::string_view path,
                                     std::string_view wanted) {
    throw ErrorAt(t, node, path, fmt::format("= {} is not {}", ShownValue(node), wanted));
  }

  static int64_t Int(const TomlTable& t, const toml::node& node, std::string_view path) {
    if (!node.is_integer()) ThrowType(t, node, path, "an integer");
    return node.as_integer()->get();
  }

  static double Number(const TomlTable& t, const toml::node& node, std::string_view path) {
    if (node.is_integer()) return static_cast<double>(node.as_integer()->get());
    if (!node.is_floating_point()) ThrowType(t, node, path, "a number");
    const double value = node.as_floating_point()->get();
    if (!std::isfinite(value)) ThrowType(t, node, path, "a finite number");
    return value;
  }

  static bool Bool(const TomlTable& t, const toml::node& node, std::string_view path) {
    if (!node.is_boolean()) ThrowType(t, node, path, "true or false");
    return node.as_boolean()->get();
  }

  static std::string String(const TomlTable& t, const toml::node& node, std::string_view path) {
    if (!node.is_string()) ThrowType(t, node, path, "a string");
    return node.as_string()->get();
  }

  // get(t, node, path) for the key, or for each element when it is an array.
  template <typename Get>
  static auto List(const TomlTable& t, std::string_view key, Get get) {
    const toml::node& node = Require(t, key);
    const std::string path = PathOf(t, key);
    std::vector<decltype(get(t, node, path))> values;
    if (const toml::array* array = node.as_array()) {
      for (size_t i = 0; i < array->size(); ++i) {
        values.push_back(get(t, (*array)[i], fmt::format("{}[{}]", path, i)));
      }
    } else {
      values.push_back(get(t, node, path));
    }
    return values;
  }
};

TomlTable::TomlTable(std::shared_ptr<const Document> document, const void* table, std::string path)
    : document_(std::move(document)), table_(table), path_(std::move(path)) {}

TomlTable TomlTable::Parse(std::string_view text, std::string_view source) {
  auto document = std::make_shared<Document>();
  document->source = source;
  try {
    document->root = toml::parse(text, source);
  } catch (const toml::parse_error& e) {
    const toml::source_position& at = e.source().begin;
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{}:{}:{}:", source, at.line, at.column),
                Shown(e.description(), 300));
  }
  const void* root = &document->root;
  return {std::move(document), root, ""};
}

TomlTable TomlTable::ParseFile(const std::filesystem::path& path) {
  constexpr size_t kMostBytes = size_t{16} << 20;
  return Parse(ReadTextFile(path, kMostBytes), path.string());
}

bool TomlTable::Has(std::string_view key) const { return Access::Of(*this).contains(key); }

std::vector<std::string> TomlTable::Keys() const {
  std::vector<std::pair<toml::source_position, std::string>> found;
  for (const auto& [key, node] : Access::Of(*this)) {
    found.emplace_back(key.source().begin, std::string(key.str()));
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second) < std::tie(b.first, b.second);
  });
  std::vector<std::string> keys;
  keys.reserve(found.size());
  for (auto& [position, key] : found) keys.push_back(std::move(key));
  return keys;
}

int64_t TomlTable::Int(std::string_view key) const {
  return Access::Int(*this, Access::Require(*this, key), Access::PathOf(*this, key));
}
double TomlTable::Number(std::string_view key) const {
  return Access::Number(*this, Access::Require(*this, key), Access::PathOf(*this, key));
}
bool TomlTable::Bool(std::string_view key) const {
  return Access::Bool(*this, Access::Require(*this, key), Access::PathOf(*this, key));
}
std::string TomlTable::String(std::string_view key) const {
  return Access::String(*this, Access::Require(*this, key), Access::PathOf(*this, key));
}

std::vector<int64_t> TomlTable::Ints(std::string_view key) const {
  return Access::List(*this, key, Access::Int);
}
std::vector<double> TomlTable::Numbers(std::string_view key) const {
  return Access::List(*this, key, Access::Number);
}
std::vector<std::string> TomlTable::Strings(std::string_view key) const {
  return Access::List(*this, key, Access::String);
}

TomlTable TomlTable::Table(std::string_view key) const {
  const toml::node& node = Access::Require(*this, key);
  const std::string path = Access::PathOf(*this, key);
  if (!node.is_table()) Access::ThrowType(*this, node, path, "a table");
  return {document_, node.as_table(), path};
}

std::optional<TomlTable> TomlTable::FindTable(std::string_view key) const {
  if (!Has(key)) return std::nullopt;
  return Table(key);
}

std::vector<TomlTable> TomlTable::Tables(std::string_view key) const {
  if (!Has(key)) return {};
  const toml::node& node = Access::Require(*this, key);
  const std::string path = Access::PathOf(*this, key);
  if (!node.is_array())
    Access::ThrowType(*this, node, path, fmt::format("an array of tables ([[{}]])", path));
  const toml::array& array = *node.as_array();
  std::vector<TomlTable> tables;
  for (size_t i = 0; i < array.size(); ++i) {
    const std::string element = fmt::format("{}[{}]", path, i);
    if (!array[i].is_table()) Access::ThrowType(*this, array[i], element, "a table");
    tables.push_back(TomlTable(document_, array[i].as_table(), element));
  }
  return tables;
}

int64_t TomlTable::Int(std::string_view key, int64_t fallback) const {
  return Has(key) ? Int(key) : fallback;
}
double TomlTable::Number(std::string_view key, double fallback) const {
  return Has(key) ? Number(key) : fallback;
}
bool TomlTable::Bool(std::string_view key, bool fallback) const { return Has(key) ? Bool(key) : fallback; }
std::string TomlTable::String(std::string_view key, std::string_view fallback) const {
  return Has(key) ? String(key) : std::string(fallback);
}

void TomlTable::RefuseUnknownKeys(std::initializer_list<std::string_view> known) const {
  const std::vector<std::string> names(known.begin(), known.end());
  for (const std::string& key : Keys()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    throw Wrong(key, "is no known key" + DidYouMean(key, names));
  }
}

Error TomlTable::Wrong(std::string_view key, std::string_view complaint) const {
  const toml::table& table = Access::Of(*this);
  const toml::node* node = table.get(key);
  return Access::ErrorAt(*this, node != nullptr ? *node : table, Access::PathOf(*this, key), complaint);
}

}  // namespace pagoda::io
