#include "judge/record/jsonl.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/io/json.h"
#include "base/io/mapped_file.h"
#include "base/sys/file.h"
#include "judge/record/codec.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

// Faults may quote bytes of an outside program: what isn't UTF-8 is replaced, not refused.
std::string Dump(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

void AddRecord(const io::JsonField& line, Records& records) {
  RequireSchema(line, kRecordSchema);
  const std::string kind = line.At("kind").String();
  if (kind == "launch") {
    records.launches.push_back(DecodeLaunch(line));
    records.launches.back().place = line.path();
  } else if (kind == "gate") {
    records.gates.push_back(DecodeGate(line));
    records.gates.back().place = line.path();
  } else {
    throw line.At("kind").Wrong("must be \"launch\" or \"gate\"");
  }
}

uintmax_t SizeOf(const std::filesystem::path& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

void CutTo(const std::filesystem::path& path, uintmax_t size) {
  std::error_code error;
  std::filesystem::resize_file(path, size, error);
  if (error)
    throw Error(ErrorCode::kIo, path.string(), "can't be cut to its whole lines: " + error.message());
}

void CutTornLine(const std::filesystem::path& path) {
  const uintmax_t size = SizeOf(path);
  if (size == 0) return;
  uintmax_t whole = 0;
  {
    const io::MappedFile file(path);
    whole = file.text().rfind('\n') + 1;  // npos + 1 is 0: no whole line at all
  }
  if (whole < size) CutTo(path, whole);
}

}  // namespace

struct RecordWriter::Impl {
  explicit Impl(const std::filesystem::path& file_path) : path(file_path), file(file_path) {}
  std::filesystem::path path;
  sys::AppendFile file;

  void AppendLine(const std::string& line) {
    // What the reader would refuse must not get into a file that only grows.
    ParseRecords(line + '\n', path.string());
    const uintmax_t before = SizeOf(path);
    try {
      file.Append(line + '\n');
      file.Sync();
    } catch (const Error&) {
      std::error_code
          ignored;  // the error that matters is on its way; a torn last line can still be read around
      if (SizeOf(path) > before) std::filesystem::resize_file(path, before, ignored);
      throw;
    }
  }
};

RecordWriter::RecordWriter(const std::filesystem::path& path) {
  CutTornLine(path);
  impl_ = std::make_unique<Impl>(path);
}
RecordWriter::~RecordWriter() = default;
RecordWriter::RecordWriter(RecordWriter&&) noexcept = default;
RecordWriter& RecordWriter::operator=(RecordWriter&&) noexcept = default;

void RecordWriter::Append(const LaunchRecord& record) { impl_->AppendLine(ToJsonLine(record)); }
void RecordWriter::Append(const GateRecord& record) { impl_->AppendLine(ToJsonLine(record)); }

std::string ToJsonLine(const LaunchRecord& record) { return Dump(Encode(record), -1); }
std::string ToJsonLine(const GateRecord& record) { return Dump(Encode(record), -1); }
std::string ToJson(const Manifest& manifest) { return Dump(Encode(manifest), 2) + '\n'; }

Records ParseRecords(std::string_view text, std::string_view where) {
  Records records;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      records.torn_lines = 1;
      break;
    }
    const std::string source = fmt::format("{}:{}", where, number);
    const nlohmann::json value = io::ParseJson(text.substr(0, end), source);
    AddRecord(io::JsonField(value, source), records);
    text.remove_prefix(end + 1);
  }
  return records;
}

Manifest ParseManifest(std::string_view text, std::string_view where) {
  const nlohmann::json value = io::ParseJson(text, where);
  return DecodeManifest(io::JsonField(value, where));
}

Records ReadRecords(const std::filesystem::path& path) {
  const io::MappedFile file(path);
  return ParseRecords(file.text(), path.string());
}

void WriteManifest(const std::filesystem::path& path, const Manifest& manifest) {
  const std::string text = ToJson(manifest);
  ParseManifest(text, path.string());
  io::WriteFileAtomically(path, text);
}

Manifest ReadManifest(const std::filesystem::path& path) {
  return ParseManifest(io::ReadTextFile(path), path.string());
}

}  // namespace pagoda::judge
