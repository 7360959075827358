// One attention problem in one safetensors file.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "app/subjects/case_metadata.h"
#include "app/subjects/compare.h"
#include "app/subjects/operator.h"
#include "base/buffer.h"
#include "base/io/safetensors.h"
#include "engine/attention/oracle.h"
#include "pagoda/hstu.h"
#include "pagoda/softmax.h"

namespace pagoda::app {

// What the output should be.
struct Golden {
  OracleResult want;  // all rows; lse empty where the file holds none
  Tolerance tolerance;
};

// PlanSoftmax takes `batch` and RunSoftmax `call`, once out and lse are set.
struct SoftmaxProblem {
  SoftmaxBatch batch;
  SoftmaxCall call;
};

// The same of PlanHstu and RunHstu.
struct HstuProblem {
  HstuBatch batch;
  HstuCall call;
};

// A validated problem.
class CaseFile {
 public:
  // Throws Error naming the tensor, the entry or the metadata key; nothing is guessed. kIo when the file
  // can't be read.
  static CaseFile Open(const std::filesystem::path& path);
  static CaseFile Parse(io::SafetensorsFile file);

  CaseOperator op() const { return metadata_.op; }
  const std::variant<SoftmaxProblem, HstuProblem>& problem() const { return problem_; }
  bool return_lse() const { return metadata_.return_lse; }
  KvLayout layout() const { return metadata_.layout; }
  bool combined() const { return file_.Find("kv_cache") != nullptr; }
  const std::optional<Golden>& golden() const { return golden_; }

  // Writes the same file with expected_o and expected_lse (f64) from the oracle in place of what it has. A
  // tolerance that the file has stays, else it is the gate's for its dtype.
  void WriteWithGolden(const std::filesystem::path& path, ThreadPool& pool) const;

 private:
  explicit CaseFile(io::SafetensorsFile file) : file_(std::move(file)) {}

  bool Holds(std::string_view name) const { return file_.Find(name) != nullptr; }
  // The tensor as an aligned copy, or an empty view. Throws unless it has one of these dtypes.
  TensorView Read(std::string_view name, std::initializer_list<DType> dtypes);
  TensorView Require(std::string_view name, std::initializer_list<DType> dtypes);
  // An index tensor, of i32 or i64.
  TensorView ReadIndex(std::string_view name);
  TensorView RequireIndex(std::string_view name);
  void CheckNames() const;
  TensorView ReadQ();
  PagedKvView ReadCache(const TensorView& q);
  PageTable ReadCsr();
  PageTable ReadTable();
  SoftmaxProblem ReadSoftmax();
  HstuProblem ReadHstu();
  void ReadGolden(const OutputShape& shape);

  io::SafetensorsFile file_;
  CaseMetadata metadata_;
  std::vector<Buffer> data_;
  std::variant<SoftmaxProblem, HstuProblem> problem_;
  std::optional<Golden> golden_;
};

}  // namespace pagoda::app
