#include "base/io/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/io/json.h"
#include "base/io/mapped_file.h"
#include "base/io/shown.h"
#include "pagoda/status.h"

namespace pagoda::io {
namespace {

constexpr size_t kMostBytes = size_t{256} << 20;
constexpr size_t kMostRequests = 1'000'000;
// A request of the most tokens has 2,048 block ids, of up to 20 characters.
constexpr size_t kMostLineBytes = size_t{64} << 10;
constexpr std::string_view kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens";
constexpr size_t kFields = 3;

[[noreturn]] void Refuse(std::string_view field, std::string_view complaint) {
  throw Error(ErrorCode::kInvalidArgument, field, complaint);
}

std::string TokensComplaint(std::string_view shown) {
  return fmt::format("= {} is not a whole number from 1 to {}", shown, RequestTrace::kMostTokens);
}

// The lines of a text without their ends; empty ones at the end of the text don't count.
class Lines {
 public:
  Lines(std::string_view text, std::string_view source)
      : rest_(text.substr(0, text.find_last_not_of("\r\n") + 1)), source_(source) {}

  bool Next() {
    if (rest_.empty()) return false;
    ++number_;
    const size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    if (line_.size() > kMostLineBytes) {
      Refuse(Place(), fmt::format("is longer than {} bytes", kMostLineBytes));
    }
    return true;
  }

  std::string_view line() const { return line_; }
  std::string Place() const { return fmt::format("{}:{}", source_, number_); }

 private:
  std::string_view rest_, source_, line_;
  int64_t number_ = 0;
};

// Takes the first field of a CSV line, and the comma behind it. Nothing: a quote that doesn't close, or text
// behind one that does.
std::optional<std::string> TakeField(std::string_view& line) {
  std::string field;
  if (!line.starts_with('"')) {
    field = line.substr(0, line.find(','));
    line.remove_prefix(field.size());
  } else {
    size_t at = 1;
    for (;; ++at) {
      if (at >= line.size()) return std::nullopt;
      if (line[at] == '"' && line.substr(at + 1, 1) != "\"") break;
      if (line[at] == '"') ++at;  // "" inside quotes is one quote
      field += line[at];
    }
    line.remove_prefix(at + 1);
    if (!line.empty() && line[0] != ',') return std::nullopt;
  }
  return field;
}

std::array<std::string, kFields> FieldsOf(const Lines& lines) {
  std::array<std::string, kFields> fields;
  std::string_view rest = lines.line();
  for (size_t i = 0; i < kFields; ++i) {
    std::optional<std::string> field = TakeField(rest);
    if (!field) Refuse(lines.Place(), "has a quoted field that doesn't end at a quote and a comma");
    fields[i] = *std::move(field);
    const bool last = i + 1 == kFields;
    if (rest.empty() != last) {
      Refuse(lines.Place(),
             fmt::format("has {} fields than the {} of {}", last ? "more" : "fewer", kFields, kHeader));
    }
    if (!last) rest.remove_prefix(1);
  }
  return fields;
}

int64_t TokensOf(const Lines& lines, std::string_view name, std::string_view text) {
  int64_t tokens = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, tokens);
  if (error != std::errc() || stop != end || tokens < 1 || tokens > RequestTrace::kMostTokens) {
    Refuse(fmt::format("{}: {}", lines.Place(), name), TokensComplaint(fmt::format("\"{}\"", Shown(text))));
  }
  return tokens;
}

void RequireHeader(const Lines& lines) {
  constexpr std::array<std::string_view, kFields> kNames = {"TIMESTAMP", "ContextTokens", "GeneratedTokens"};
  bool same = true;
  std::string_view rest = lines.line();
  for (size_t i = 0; i < kFields && same; ++i) {
    same = TakeField(rest) == kNames[i] && rest.empty() == (i + 1 == kFields);
    if (same && !rest.empty()) rest.remove_prefix(1);
  }
  if (!same) {
    Refuse(lines.Place(),
           fmt::format("\"{}\" is neither the header {} nor a JSON object", Shown(lines.line()), kHeader));
  }
}

TraceRequest CsvRequest(const Lines& lines) {
  const std::array<std::string, kFields> fields = FieldsOf(lines);
  return {TokensOf(lines, "ContextTokens", fields[1]), TokensOf(lines, "GeneratedTokens", fields[2]), {}};
}

int64_t TokensOf(const JsonField& field) {
  const nlohmann::json& value = field.value();
  const int64_t tokens = value.is_number_integer() ? field.Int() : 0;
  if (tokens < 1 || tokens > RequestTrace::kMostTokens) {
    throw field.Wrong(TokensComplaint(
        value.is_structured() ? value.type_name()
                              : Shown(value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace))));
  }
  return tokens;
}

TraceRequest JsonRequest(const Lines& lines) {
  const nlohmann::json value = ParseJson(lines.line(), lines.Place());
  const JsonField in(value, lines.Place());
  TraceRequest request{TokensOf(in.At("input_length")), TokensOf(in.At("output_length")), {}};
  const JsonField ids = in.At("hash_ids");
  for (const JsonField& id : ids.Elements()) request.blocks.push_back(id.Int());
  const int64_t blocks = (request.input_tokens + RequestTrace::kBlockTokens - 1) / RequestTrace::kBlockTokens;
  if (std::ssize(request.blocks) != blocks) {
    throw ids.Wrong(fmt::format("has {} ids, but {} tokens are {} blocks of {}", request.blocks.size(),
                                request.input_tokens, blocks, RequestTrace::kBlockTokens));
  }
  return request;
}

}  // namespace

RequestTrace ParseTrace(std::string_view text, std::string_view source) {
  if (text.size() > kMostBytes) {
    Refuse(source, fmt::format("has {} bytes, more than {}; the first lines of it will do: head -n 100000",
                               text.size(), kMostBytes));
  }
  RequestTrace trace;
  trace.source = source;
  trace.has_blocks = text.starts_with('{');
  Lines lines(text, source);
  if (!trace.has_blocks && lines.Next()) RequireHeader(lines);
  while (lines.Next()) {
    if (trace.requests.size() == kMostRequests) {
      Refuse(lines.Place(), fmt::format("is one of more than {} requests; the first lines of the file will "
                                        "do: head -n 100000",
                                        kMostRequests));
    }
    trace.requests.push_back(trace.has_blocks ? JsonRequest(lines) : CsvRequest(lines));
  }
  if (trace.requests.empty()) Refuse(source, "holds no request");
  return trace;
}

RequestTrace ReadTrace(const std::filesystem::path& path) {
  const MappedFile file(path);
  return ParseTrace(file.text(), path.string());
}

}  // namespace pagoda::io
