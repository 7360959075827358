// The problem of a case file as a suite of one case.
#pragma once

#include <string>

#include "app/subjects/case_file.h"
#include "judge/bench/suite.h"

namespace pagoda::app {

// A case of the same shape, parameters, layout and table form; its inputs are made by the gate's rules, so
// that a fault shows, and pages that the file shares between sequences are apart. The suite has the name
// `name`, the case one by the grammar. Throws Error(q_indptr) when there is no query row to compute.
judge::Suite SuiteOf(const CaseFile& c, std::string name);

}  // namespace pagoda::app
