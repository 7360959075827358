// What `bench` and `gate` take as SUITE.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/subjects/case_file.h"
#include "app/subjects/program.h"
#include "judge/bench/setup.h"
#include "judge/bench/suite.h"

namespace pagoda::app {

struct SuiteSource {
  judge::Suite suite;
  std::optional<CaseFile> file;  // when SUITE is a case file
};

// A built-in suite by name, a TOML file, or a case file (*.safetensors). With the file of a trace, drawn
// lengths come from there. Throws Error as their readers do, and Error(--trace) where no lengths are drawn.
SuiteSource OpenSuite(const std::string& suite, const std::string& trace_file);

// What was selected, with all the programs after it.
judge::Selection WithPrograms(judge::Selection selection, const std::vector<ProgramCommand>& programs);

// Help of the option --trace.
inline constexpr const char* kTraceHelp =
    "Requests to take lengths from where the suite draws them: Azure LLM CSV or Mooncake JSONL";

// Whether those of the variants that are built in and support it compute the case file's own tensors as it
// expects; prints what is wrong. True without a case file or an expectation in it.
bool OwnTensorsHold(const SuiteSource& source, const std::vector<std::string>& variants, int threads);

// Throws Error where nothing of the setup can run here: no variant computes any case, or a case needs more
// memory than there is.
void RequireRunnable(const judge::RunSetup& setup);

}  // namespace pagoda::app
