// JSON that may come from anywhere: parsed with bounds, read by typed getters whose errors name the field's
// path.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pagoda/status.h"

namespace pagoda::io {

struct JsonLimits {
  int max_depth = 64;  // of arrays and objects inside each other
};

// Parses exactly one value. Throws Error (kInvalidArgument) naming `source`, the byte, and what is wrong: bad
// syntax or UTF-8, a number out of range, a key twice in one object, too deep.
nlohmann::json ParseJson(std::string_view text, std::string_view source, const JsonLimits& limits = {});

// Whether JSON can hold the text.
bool IsUtf8(const std::string& text);

// A value inside a parsed document with its path ("report.json: cases[3].name"). Refers to the document,
// which must outlive it. Every getter throws Error (kInvalidArgument) with the path as its field.
class JsonField {
 public:
  JsonField(const nlohmann::json& value, std::string_view source) : value_(&value), path_(source) {}

  const nlohmann::json& value() const { return *value_; }
  const std::string& path() const { return path_; }

  bool Has(std::string_view key) const;
  bool IsNull() const;
  // Members of an object; the second gives nothing when there is none of that name.
  JsonField At(std::string_view key) const;
  std::optional<JsonField> Find(std::string_view key) const;
  // Elements of an array, members of an object.
  std::vector<JsonField> Elements() const;
  std::vector<std::string> Keys() const;
  // Throws for the first key that is none of these, with "did you mean".
  void RefuseUnknownKeys(std::initializer_list<std::string_view> known) const;

  int64_t Int() const;  // an integral number within int64
  uint64_t Unsigned() const;
  double Number() const;
  bool Bool() const;
  std::string String() const;

  // An error about this field, for checks of the caller's own.
  Error Wrong(std::string_view complaint) const;

 private:
  JsonField(const nlohmann::json* value, std::string path) : value_(value), path_(std::move(path)) {}
  [[noreturn]] void ThrowType(std::string_view wanted) const;

  const nlohmann::json* value_;
  std::string path_;
  bool is_root_ = true;
};

}  // namespace pagoda::io
