#include "app/commands/suite_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

#include "app/commands/console.h"
#include "app/subjects/attend.h"
#include "app/subjects/case_suite.h"
#include "base/io/trace.h"
#include "base/sys/cpu.h"
#include "judge/report/numbers.h"
#include "pagoda/hstu.h"
#include "pagoda/softmax.h"
#include "pagoda/status.h"

namespace pagoda::app {
namespace {

io::RequestTrace ReadTrace(const std::string& file) {
  try {
    return io::ReadTrace(file);
  } catch (const Error& e) {
    throw Error(e.code(), "--trace", e.what());
  }
}

}  // namespace

SuiteSource OpenSuite(const std::string& suite, const std::string& trace_file) {
  std::optional<io::RequestTrace> trace;
  if (!trace_file.empty()) trace = ReadTrace(trace_file);
  const std::filesystem::path path = suite;
  if (path.extension() != ".safetensors") return {judge::LoadSuite(suite, trace ? &*trace : nullptr), {}};
  if (trace) {
    throw Error(ErrorCode::kInvalidArgument, "--trace",
                fmt::format("= {} can't go with a case file, which has its own lengths", trace_file));
  }
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw Error(ErrorCode::kInvalidArgument, suite, "does not exist; check the path");
  }
  CaseFile file = CaseFile::Open(path);
  judge::Suite one = SuiteOf(file, path);
  return {std::move(one), std::move(file)};
}

judge::Selection WithPrograms(judge::Selection selection, const std::vector<ProgramCommand>& programs) {
  for (const ProgramCommand& program : programs) selection.added.push_back(program.name);
  return selection;
}

void RequireRunnable(const judge::RunSetup& setup) {
  if (setup.GateCases().empty()) {
    const judge::Unsupported& first = setup.unsupported.front();
    throw Error(ErrorCode::kUnsupported, "",
                fmt::format("no variant computes any of the cases; {} {}: {}", first.case_name, first.variant,
                            first.reason));
  }
  const auto available = static_cast<double>(sys::AvailableMemory());
  for (size_t i = 0; available > 0 && i < setup.cases.size(); ++i) {
    const double needed = setup.facts[i].memory_bytes;
    if (needed <= available) continue;
    throw Error(ErrorCode::kUnsupported, setup.cases[i].name,
                fmt::format("needs {} of memory at least, and {} can be had here; choose other cases with "
                            "--only, or another machine",
                            judge::Bytes(needed), judge::Bytes(available)));
  }
}

bool OwnTensorsHold(const SuiteSource& source, const std::vector<std::string>& variants, int threads) {
  if (!source.file || !source.file->golden()) return true;
  std::vector<std::string> built_in;
  std::copy_if(variants.begin(), variants.end(), std::back_inserter(built_in), [&](const std::string& name) {
    return source.file->op() == CaseOperator::kSoftmaxPaged ? FindSoftmaxVariant(name) != nullptr
                                                            : FindHstuVariant(name) != nullptr;
  });
  if (built_in.empty()) return true;
  const std::shared_ptr<Kernels> kernels = Kernels::Load(0);
  const AttendResult result =
      Attend(*source.file, *kernels, {.variants = built_in, .check = true, .threads = threads});
  for (const AttendRow& row : result.rows) {
    if (!row.fault.empty()) {
      PrintError(fmt::format("{}: {} against the file's expectation: {}", source.suite.name, row.variant,
                             row.fault));
    }
  }
  return !result.AnyFailed();
}

}  // namespace pagoda::app
