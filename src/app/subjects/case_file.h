// One softmax attention problem in one safetensors file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/subjects/case_metadata.h"
#include "app/subjects/compare.h"
#include "base/buffer.h"
#include "base/io/safetensors.h"
#include "engine/attention/oracle.h"
#include "pagoda/softmax.h"

namespace pagoda::app {

// What the output should be.
struct Golden {
  OracleResult want;  // all rows; lse empty where the file holds none
  Tolerance tolerance;
};

// A validated problem: PlanSoftmax takes `batch` and RunSoftmax `call`, once out and lse are set.
class CaseFile {
 public:
  // Throws Error naming the tensor, the entry or the metadata key; nothing is guessed. kUnsupported for an
  // operator that is not built yet, kIo when the file can't be read.
  static CaseFile Open(const std::filesystem::path& path);
  static CaseFile Parse(io::SafetensorsFile file);

  const SoftmaxBatch& batch() const { return batch_; }
  const SoftmaxCall& call() const { return call_; }
  bool return_lse() const { return metadata_.return_lse; }
  KvLayout layout() const { return metadata_.layout; }
  bool combined() const { return file_.Find("kv_cache") != nullptr; }
  const std::optional<Golden>& golden() const { return golden_; }

  // Writes the same file with expected_o and expected_lse (f64) from the oracle in place of what it has. A
  // tolerance that the file has stays, else it is the gate's for its dtype.
  void WriteWithGolden(const std::filesystem::path& path, ThreadPool& pool) const;

 private:
  explicit CaseFile(io::SafetensorsFile file) : file_(std::move(file)) {}

  // The tensor as an aligned copy, or an empty view. Throws unless it has one of these dtypes.
  TensorView Read(std::string_view name, std::initializer_list<DType> dtypes);
  TensorView Require(std::string_view name, std::initializer_list<DType> dtypes);
  void CheckNames() const;
  void ReadCache();
  void ReadTable();
  void ReadGolden();

  io::SafetensorsFile file_;
  SoftmaxMetadata metadata_;
  std::vector<Buffer> data_;
  SoftmaxBatch batch_;
  SoftmaxCall call_;
  std::optional<Golden> golden_;
};

}  // namespace pagoda::app
