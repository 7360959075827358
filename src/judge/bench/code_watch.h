// The files whose code a run measures: a variant must stay what it was from the first launch to the last.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/sys/file.h"
#include "judge/bench/child_runner.h"
#include "judge/record/record.h"

namespace pagoda::judge {

class CodeWatch {
 public:
  // Hashes the files. Throws Error (kIo, the path as its field).
  explicit CodeWatch(const std::vector<std::filesystem::path>& files);

  const std::vector<CodeFile>& files() const { return files_; }

  // Throws Error (the path as its field) for a file that is gone or has other contents. Reads those only that
  // were written or replaced since.
  void RequireUnchanged();

 private:
  std::vector<CodeFile> files_;
  std::vector<sys::FileIdentity> identities_;  // of each file
};

// Runs plans by another runner, and gives no outcome of code that changed meanwhile: each process loads its
// code anew, so what it did would be said of another variant.
class WatchedRunner : public ChildRunner {
 public:
  // Both outlive it.
  WatchedRunner(ChildRunner& runner, CodeWatch& watch) : runner_(runner), watch_(watch) {}

  // Throws what CodeWatch::RequireUnchanged does.
  ChildOutcome Run(std::string_view plan_json, double timeout_s) override;

 private:
  ChildRunner& runner_;
  CodeWatch& watch_;
};

}  // namespace pagoda::judge
