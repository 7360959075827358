// Runs of each kind that a report must cope with: records, judged.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "judge/report/sample_run.h"

namespace pagoda::judge {

// The cases of all of them.
extern const std::vector<std::string> kCases;

SampleRun ClearWin();         // `fast` over `slow`, everywhere
SampleRun AllTies();          // `one` and `two`
SampleRun OneVariant();       // `alone`
SampleRun FiveVariants();     // highperf ahead, both unroll variants the same
SampleRun Mixed();            // `fast` loses the second case
SampleRun Interrupted();      // after 7 of 36 launches, the last line torn
SampleRun NothingTimed();     // three variants, gates only
SampleRun GateFailed();       // `fast` wrong on the first case
SampleRun Hung();             // `stuck` hung on the second case; `fast` and `slow` are fine
SampleRun Contaminated();     // one launch left out
SampleRun UnsupportedCase();  // `fast` doesn't support the third case
SampleRun Crossing();         // `fast` overtakes `slow` over the context, and leads over the batch

struct RunKind {
  const char* name;
  SampleRun (*make)();
};
std::vector<RunKind> RunKinds();
void PrintTo(const RunKind& kind, std::ostream* out);

}  // namespace pagoda::judge
