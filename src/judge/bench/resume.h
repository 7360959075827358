// May a run go on where another stopped?
#pragma once

#include <string>
#include <vector>

#include "judge/record/record.h"

namespace pagoda::judge {

// What differs between the run that a directory holds and the one that is asked for now, one plain sentence
// each; empty when the second may append to the first. Time, run id, command line and ceilings may differ;
// suite, cases, variants, external programs, launches, seed, threads, delta and the binary may not.
std::vector<std::string> ManifestDifferences(const Manifest& recorded, const Manifest& asked);

}  // namespace pagoda::judge
