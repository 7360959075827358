// One case file through some variants.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/subjects/case_file.h"
#include "app/subjects/compare.h"
#include "app/subjects/guarded_run.h"
#include "app/subjects/kernel_library.h"

namespace pagoda::app {

struct AttendOptions {
  std::vector<std::string> variants;  // empty: all
  bool check = false;                 // compare with the file's expectation
  bool time = false;
  DType out_dtype = DType::kF32;
  int threads = 1;
};

// What came of one variant.
struct AttendRow {
  std::string variant;
  std::optional<std::string> why_not;  // it does not support the case
  std::string fault;                   // what went wrong; empty when it passed
  std::optional<Comparison> comparison;
  std::optional<double> host_us, device_us;  // medians of warm calls
};

struct AttendResult {
  std::vector<AttendRow> rows;
  std::string written_by;                 // the first variant that computed the case, whose output this is
  std::unique_ptr<GuardedOutput> output;  // null if none did

  bool AnySupports() const;
  bool AnyFailed() const;
};

// Throws Error(variant) for a name that does not exist, Error(expected_o) when asked to check a file without
// one.
AttendResult Attend(const CaseFile& c, Kernels& kernels, const AttendOptions& options);

}  // namespace pagoda::app
