#include "base/io/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/io/shown.h"
#include "base/suggest.h"

namespace pagoda::io {
namespace {

using nlohmann::json;

// Tells how far the parser has read, which its callback does not.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

std::string ShownValue(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return Shown(value.dump(-1, ' ', true, json::error_handler_t::replace));
}

}  // namespace

bool IsUtf8(const std::string& text) {
  try {
    static_cast<void>(json(text).dump());
    return true;
  } catch (const json::type_error&) {
    return false;
  }
}

json ParseJson(std::string_view text, std::string_view source, const JsonLimits& limits) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const char* furthest = begin;
  const auto fail = [&](std::string_view what) {
    throw Error(ErrorCode::kInvalidArgument, source, fmt::format("at byte {}: {}", furthest - begin, what));
  };
  std::vector<std::set<std::string>> keys_of_open_objects;
  int depth = 0;
  const auto check = [&](int, json::parse_event_t event, json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start:
        keys_of_open_objects.emplace_back();
        [[fallthrough]];
      case json::parse_event_t::array_start:
        if (++depth > limits.max_depth) {
          fail(fmt::format("more than {} arrays and objects inside each other", limits.max_depth));
        }
        break;
      case json::parse_event_t::key:
        if (!keys_of_open_objects.back().insert(parsed.get<std::string>()).second) {
          fail(fmt::format("the key \"{}\" stands twice in one object", Shown(parsed.get<std::string>())));
        }
        break;
      case json::parse_event_t::object_end:
        keys_of_open_objects.pop_back();
        [[fallthrough]];
      case json::parse_event_t::array_end:
        --depth;
        break;
      case json::parse_event_t::value:
        break;
    }
    return true;
  };
  try {
    return json::parse(CountingIterator(begin, &furthest), CountingIterator(end, &furthest), check);
  } catch (const json::exception& e) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..."
    std::string what = e.what();
    if (const size_t bracket = what.find("] "); bracket != what.npos) what.erase(0, bracket + 2);
    // A text of one line may be a line of a file, whose number is not 1.
    constexpr std::string_view kFirstLine = "line 1, ";
    const size_t line = std::find(begin, end, '\n') == end ? what.find(kFirstLine) : what.npos;
    if (line != what.npos) what.erase(line, kFirstLine.size());
    fail(Shown(what, 300));
  }
  return {};
}

bool JsonField::Has(std::string_view key) const { return value_->is_object() && value_->contains(key); }

bool JsonField::IsNull() const { return value_->is_null(); }

std::optional<JsonField> JsonField::Find(std::string_view key) const {
  if (!value_->is_object()) ThrowType("an object");
  const auto member = value_->find(key);
  if (member == value_->end()) return std::nullopt;
  JsonField field(&*member, path_ + (is_root_ ? ": " : ".") + Shown(key));
  field.is_root_ = false;
  return field;
}

JsonField JsonField::At(std::string_view key) const {
  if (auto field = Find(key)) return *std::move(field);
  throw Error(ErrorCode::kInvalidArgument, path_ + (is_root_ ? ": " : ".") + Shown(key), "is missing");
}

std::vector<JsonField> JsonField::Elements() const {
  if (!value_->is_array()) ThrowType("an array");
  std::vector<JsonField> elements;
  elements.reserve(value_->size());
  for (size_t i = 0; i < value_->size(); ++i) {
    JsonField& field = elements.emplace_back(
        JsonField(&(*value_)[i], fmt::format("{}{}[{}]", path_, is_root_ ? ": " : "", i)));
    field.is_root_ = false;
  }
  return elements;
}

std::vector<std::string> JsonField::Keys() const {
  if (!value_->is_object()) ThrowType("an object");
  std::vector<std::string> keys;
  for (const auto& [key, value] : value_->items()) keys.push_back(key);
  return keys;
}

void JsonField::RefuseUnknownKeys(std::initializer_list<std::string_view> known) const {
  const std::vector<std::string> names(known.begin(), known.end());
  for (const std::string& key : Keys()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    throw At(key).Wrong("is no known field" + DidYouMean(key, names));
  }
}

int64_t JsonField::Int() const {
  if (value_->is_number_unsigned() && value_->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
    ThrowType("an integer of 64 bits");
  }
  if (!value_->is_number_integer()) ThrowType("an integer");
  return value_->get<int64_t>();
}

uint64_t JsonField::Unsigned() const {
  if (!value_->is_number_unsigned()) ThrowType("an integer that is not negative");
  return value_->get<uint64_t>();
}

double JsonField::Number() const {
  if (!value_->is_number()) ThrowType("a number");
  return value_->get<double>();
}

bool JsonField::Bool() const {
  if (!value_->is_boolean()) ThrowType("true or false");
  return value_->get<bool>();
}

std::string JsonField::String() const {
  if (!value_->is_string()) ThrowType("a string");
  return value_->get<std::string>();
}

Error JsonField::Wrong(std::string_view complaint) const {
  return {ErrorCode::kInvalidArgument, path_, complaint};
}

void JsonField::ThrowType(std::string_view wanted) const {
  throw Wrong(fmt::format("= {} is not {}", ShownValue(*value_), wanted));
}

}  // namespace pagoda::io
