#include "base/io/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "base/checked_math.h"
#include "base/io/json.h"
#include "base/io/mapped_file.h"
#include "base/io/shown.h"
#include "base/suggest.h"
#include "base/sys/file.h"
#include "pagoda/status.h"

namespace pagoda::io {
namespace {

static_assert(std::endian::native == std::endian::little, "tensor data are little-endian and used in place");

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMostHeaderBytes = 100'000'000;  // the limit of the reference implementation
constexpr size_t kMostDimensions = 32;
constexpr size_t kDataAlignment = 64;
constexpr std::string_view kMetadataKey = "__metadata__";

struct TypeInfo {
  SafetensorsType type;
  std::string_view name;
  int64_t size;
  std::optional<DType> dtype;
};

constexpr std::array kTypes = {
    TypeInfo{SafetensorsType::kF64, "F64", 8, DType::kF64},
    TypeInfo{SafetensorsType::kF32, "F32", 4, DType::kF32},
    TypeInfo{SafetensorsType::kF16, "F16", 2, DType::kF16},
    TypeInfo{SafetensorsType::kBF16, "BF16", 2, DType::kBF16},
    TypeInfo{SafetensorsType::kI64, "I64", 8, DType::kI64},
    TypeInfo{SafetensorsType::kI32, "I32", 4, DType::kI32},
    TypeInfo{SafetensorsType::kI16, "I16", 2, std::nullopt},
    TypeInfo{SafetensorsType::kI8, "I8", 1, std::nullopt},
    TypeInfo{SafetensorsType::kU64, "U64", 8, std::nullopt},
    TypeInfo{SafetensorsType::kU32, "U32", 4, std::nullopt},
    TypeInfo{SafetensorsType::kU16, "U16", 2, std::nullopt},
    TypeInfo{SafetensorsType::kU8, "U8", 1, std::nullopt},
    TypeInfo{SafetensorsType::kBool, "BOOL", 1, std::nullopt},
    TypeInfo{SafetensorsType::kF8E4M3, "F8_E4M3", 1, std::nullopt},
    TypeInfo{SafetensorsType::kF8E5M2, "F8_E5M2", 1, std::nullopt},
};

const TypeInfo& InfoOf(SafetensorsType type) {
  return *std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeInfo& t) { return t.type == type; });
}

SafetensorsType ReadType(const JsonField& field) {
  const std::string name = field.String();
  const auto* info =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeInfo& t) { return t.name == name; });
  if (info != kTypes.end()) return info->type;
  std::vector<std::string> names;
  names.reserve(kTypes.size());
  for (const TypeInfo& t : kTypes) names.emplace_back(t.name);
  throw field.Wrong(fmt::format("= \"{}\" is no known dtype{}", Shown(name), DidYouMean(name, names)));
}

struct Placed {
  SafetensorsTensor tensor;
  int64_t begin = 0, end = 0;  // in the data
};

std::vector<int64_t> ReadShape(const JsonField& field) {
  std::vector<int64_t> shape;
  for (const JsonField& dimension : field.Elements()) {
    if (shape.size() == kMostDimensions) {
      throw field.Wrong(fmt::format("has more than {} dimensions", kMostDimensions));
    }
    shape.push_back(dimension.Int());
    if (shape.back() < 0) throw dimension.Wrong(fmt::format("= {} is negative", shape.back()));
  }
  return shape;
}

Placed ReadTensor(const std::string& name, const JsonField& field, std::span<const std::byte> data,
                  size_t data_begin) {
  field.RefuseUnknownKeys({"dtype", "shape", "data_offsets"});
  Placed placed;
  placed.tensor.name = name;
  placed.tensor.type = ReadType(field.At("dtype"));
  placed.tensor.shape = ReadShape(field.At("shape"));

  const JsonField offsets = field.At("data_offsets");
  const std::vector<JsonField> pair = offsets.Elements();
  if (pair.size() != 2)
    throw offsets.Wrong(fmt::format("has {} numbers; it takes begin and end", pair.size()));
  placed.begin = pair[0].Int();
  placed.end = pair[1].Int();
  const auto size = static_cast<int64_t>(data.size());
  if (placed.begin < 0 || placed.end < placed.begin || placed.end > size) {
    throw offsets.Wrong(
        fmt::format("= [{}, {}] is outside 0..{}; the data begin at byte {} of the file, which ends "
                    "at byte {}",
                    placed.begin, placed.end, size, data_begin, data_begin + data.size()));
  }
  const auto elements = CheckedProduct(placed.tensor.shape);
  const auto bytes = elements ? CheckedMul(*elements, SizeOf(placed.tensor.type)) : std::nullopt;
  if (!bytes) {
    throw field.At("shape").Wrong(
        fmt::format("= [{}] has more than 2^63 bytes", fmt::join(placed.tensor.shape, ", ")));
  }
  if (*bytes != placed.end - placed.begin) {
    throw offsets.Wrong(fmt::format("= [{}, {}] spans {} bytes, but {} [{}] takes {}", placed.begin,
                                    placed.end, placed.end - placed.begin, NameOf(placed.tensor.type),
                                    fmt::join(placed.tensor.shape, ", "), *bytes));
  }
  placed.tensor.bytes =
      data.subspan(static_cast<size_t>(placed.begin), static_cast<size_t>(placed.end - placed.begin));
  return placed;
}

// The tensors, ordered, must follow each other from the first byte of the data to the last.
void CheckCover(std::span<const Placed> placed, std::string_view source, int64_t data_size,
                size_t data_begin) {
  int64_t covered = 0;
  std::string_view last = "the header";
  for (const Placed& p : placed) {
    if (p.begin != covered) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: {}.data_offsets", source, Shown(p.tensor.name)),
                  fmt::format("= [{}, {}] {} {} (it has to begin at {}, byte {} of the file)", p.begin, p.end,
                              p.begin < covered ? "overlaps" : "leaves a gap behind", Shown(last), covered,
                              data_begin + static_cast<size_t>(covered)));
    }
    covered = p.end;
    last = p.tensor.name;
  }
  if (covered != data_size) {
    throw Error(
        ErrorCode::kInvalidArgument, source,
        fmt::format("has {} bytes behind {}, from byte {} on, that belong to no tensor; it is damaged or "
                    "was written in part",
                    data_size - covered, Shown(last), data_begin + static_cast<size_t>(covered)));
  }
}

std::string HeaderOf(std::span<const SafetensorsTensor* const> order,
                     const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[std::string(kMetadataKey)] = metadata;
  size_t offset = 0;
  for (const SafetensorsTensor* t : order) {
    header[t->name] = {{"dtype", NameOf(t->type)},
                       {"shape", t->shape},
                       {"data_offsets", {offset, offset + t->bytes.size()}}};
    offset += t->bytes.size();
  }
  std::string text = header.dump();
  const size_t total = kLengthBytes + text.size();
  text.append((kDataAlignment - total % kDataAlignment) % kDataAlignment, ' ');
  return text;
}

void CheckWritable(std::span<const SafetensorsTensor> tensors) {
  std::set<std::string_view> names;
  for (const SafetensorsTensor& t : tensors) {
    if (t.name == kMetadataKey || !names.insert(t.name).second) {
      throw Error(ErrorCode::kInvalidArgument, fmt::format("tensor \"{}\"", Shown(t.name)),
                  t.name == kMetadataKey ? "has the name that is reserved for metadata" : "is there twice");
    }
    const auto elements = CheckedProduct(t.shape);
    const auto bytes = elements ? CheckedMul(*elements, SizeOf(t.type)) : std::nullopt;
    const bool negative = std::any_of(t.shape.begin(), t.shape.end(), [](int64_t n) { return n < 0; });
    if (negative || bytes != static_cast<int64_t>(t.bytes.size())) {
      throw Error(ErrorCode::kInvalidArgument, fmt::format("tensor \"{}\"", Shown(t.name)),
                  fmt::format("has {} bytes, which is not what {} [{}] takes", t.bytes.size(), NameOf(t.type),
                              fmt::join(t.shape, ", ")));
    }
  }
}

}  // namespace

std::string_view NameOf(SafetensorsType type) { return InfoOf(type).name; }
int64_t SizeOf(SafetensorsType type) { return InfoOf(type).size; }
std::optional<DType> ToDType(SafetensorsType type) { return InfoOf(type).dtype; }

SafetensorsType ToSafetensorsType(DType type) {
  return std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeInfo& t) { return t.dtype == type; })->type;
}

int64_t SafetensorsTensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

SafetensorsFile SafetensorsFile::Parse(std::span<const std::byte> bytes, std::string_view source) {
  const auto refuse = [&](std::string_view complaint) {
    throw Error(ErrorCode::kInvalidArgument, source, complaint);
  };
  if (bytes.size() < kLengthBytes) {
    refuse(fmt::format("has {} bytes, too few for a safetensors file", bytes.size()));
  }
  uint64_t header_bytes = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) header_bytes |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  const size_t room = bytes.size() - kLengthBytes;
  if (header_bytes > room || header_bytes > kMostHeaderBytes) {
    refuse(
        fmt::format("is no safetensors file, or cut short: its first 8 bytes announce a header of {} bytes, "
                    "but {}",
                    header_bytes,
                    header_bytes > room ? fmt::format("only {} follow", room)
                                        : fmt::format("at most {} are read", kMostHeaderBytes)));
  }
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, header_bytes);
  if (header.empty() || header.front() != '{')
    refuse("has no JSON object at byte 8, where the header begins");

  SafetensorsFile file;
  file.source_ = source;
  // A header is an object of objects of arrays.
  const nlohmann::json json = ParseJson(header, fmt::format("{}: header", source), {.max_depth = 3});
  const JsonField root(json, source);
  const size_t data_begin = kLengthBytes + header_bytes;
  const std::span<const std::byte> data = bytes.subspan(data_begin);

  std::vector<Placed> placed;
  for (const std::string& name : root.Keys()) {
    const JsonField field = root.At(name);
    if (name == kMetadataKey) {
      for (const std::string& key : field.Keys()) file.metadata_[key] = field.At(key).String();
    } else {
      placed.push_back(ReadTensor(name, field, data, data_begin));
    }
  }
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return std::tie(a.begin, a.end, a.tensor.name) < std::tie(b.begin, b.end, b.tensor.name);
  });
  CheckCover(placed, source, static_cast<int64_t>(data.size()), data_begin);
  file.tensors_.reserve(placed.size());
  for (Placed& p : placed) file.tensors_.push_back(std::move(p.tensor));
  return file;
}

SafetensorsFile SafetensorsFile::Open(const std::filesystem::path& path) {
  auto mapped = std::make_shared<const MappedFile>(path);
  SafetensorsFile file = Parse(mapped->bytes(), path.string());
  file.owner_ = std::move(mapped);
  return file;
}

const SafetensorsTensor* SafetensorsFile::Find(std::string_view name) const {
  const auto found =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& t) { return t.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

void WriteSafetensors(const std::filesystem::path& path, std::span<const SafetensorsTensor> tensors,
                      const std::map<std::string, std::string>& metadata) {
  CheckWritable(tensors);
  std::vector<const SafetensorsTensor*> order;
  order.reserve(tensors.size());
  for (const SafetensorsTensor& t : tensors) order.push_back(&t);
  std::sort(order.begin(), order.end(), [](const SafetensorsTensor* a, const SafetensorsTensor* b) {
    const int64_t size_a = SizeOf(a->type), size_b = SizeOf(b->type);
    return size_a != size_b ? size_a > size_b : a < b;  // among equals, as given
  });

  const std::string header = HeaderOf(order, metadata);
  std::array<std::byte, kLengthBytes> length{};
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length[i] = static_cast<std::byte>(static_cast<uint64_t>(header.size()) >> (8 * i));
  }
  sys::OutputFile file(path);
  file.Write(length);
  file.Write(std::as_bytes(std::span(header)));
  for (const SafetensorsTensor* t : order) file.Write(t->bytes);
  file.Commit();
}

}  // namespace pagoda::io
