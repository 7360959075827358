// May a run go on where another stopped?
#pragma once

#include <string>
#include <vector>

#include "judge/record/record.h"

namespace pagoda::judge {

// What differs between the run that a directory holds and the one that is asked for now, one plain sentence
// each; empty when the second may append to the first. Time, run id, command line and ceilings may differ;
// suite, cases and their problems, variants, external programs, launches, seed, threads, delta, settings, the
// code, the instruction set and the machine may not. What an older manifest lacks is passed over.
std::vector<std::string> ManifestDifferences(const Manifest& recorded, const Manifest& asked);

}  // namespace pagoda::judge
