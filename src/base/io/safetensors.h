// The safetensors format (github.com/huggingface/safetensors): 8 bytes of header length, a JSON header, the
// tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/tensor.h"

namespace pagoda::io {

enum class SafetensorsType : uint8_t {
  kF64,
  kF32,
  kF16,
  kBF16,
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool,
  kF8E4M3,
  kF8E5M2
};

std::string_view NameOf(SafetensorsType type);  // as in the file: "BF16"
int64_t SizeOf(SafetensorsType type);           // bytes of one element
// The types that Pagoda computes with; nothing for the others.
std::optional<DType> ToDType(SafetensorsType type);
SafetensorsType ToSafetensorsType(DType type);

struct SafetensorsTensor {
  std::string name;
  SafetensorsType type = SafetensorsType::kF32;
  std::vector<int64_t> shape;  // empty: a scalar
  // In the file, with no alignment that could be relied on: copy before reading them as numbers.
  std::span<const std::byte> bytes;

  int64_t elements() const;
};

// A file whose header has been checked whole: every offset lies in the file, the tensors cover the data
// without gap or overlap, each length is that of its shape, no name stands twice, metadata are strings.
// Throws Error (kInvalidArgument) naming file, tensor and byte; never allocates more than a small multiple of
// the header that is really there.
class SafetensorsFile {
 public:
  static SafetensorsFile Open(const std::filesystem::path& path);  // kIo when it can't be read
  // `bytes` must outlive the result. `source` names them in errors.
  static SafetensorsFile Parse(std::span<const std::byte> bytes, std::string_view source);

  const std::string& source() const { return source_; }
  const std::vector<SafetensorsTensor>& tensors() const { return tensors_; }  // in the order of their bytes
  const SafetensorsTensor* Find(std::string_view name) const;                 // null when there is none
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  std::string source_;
  std::vector<SafetensorsTensor> tensors_;
  std::map<std::string, std::string> metadata_;
  std::shared_ptr<const void> owner_;  // the mapped file
};

// Writes the file in one step (see WriteFileAtomically). The data begin at a multiple of 64 bytes and larger
// element types come first, so that every tensor is aligned to its elements. Throws Error: a name twice or
// reserved, bytes that don't fit the shape, or kIo.
void WriteSafetensors(const std::filesystem::path& path, std::span<const SafetensorsTensor> tensors,
                      const std::map<std::string, std::string>& metadata);

}  // namespace pagoda::io
