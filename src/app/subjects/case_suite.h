// The problem of a case file as a suite of one case.
#pragma once

#include <filesystem>

#include "app/subjects/case_file.h"
#include "judge/bench/suite.h"

namespace pagoda::app {

// `path` is where the file lies, and gives the suite its name. Inputs are made by the gate's rules, so that a
// fault shows.
//   softmax: a case of the same shape, parameters, layout and table form, with its name by the grammar; pages
//   that the file shares between sequences are apart. HSTU: the problem itself, but for the values of q, K
//   and V; the case has the name of the file.
// Throws Error where there is nothing to time: q_indptr or seq_offsets without a query row, a mask by which
// no row sees a key; and as judge::CheckCase does.
judge::Suite SuiteOf(const CaseFile& c, const std::filesystem::path& path);

// Reads what a case came without from its file, if it has one. Throws Error(path) where that is another one
// by now.
void CompleteCase(judge::CaseSpec& spec);

}  // namespace pagoda::app
