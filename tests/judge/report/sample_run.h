// Small hand-made runs for the printers' tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "judge/report/replay.h"

namespace pagoda::judge {

struct SampleRun {
  Manifest manifest;
  Records records;
  RunVerdict verdict;

  Replay AsReplay() const { return {manifest, records, verdict}; }
};

// Three cases (WIN, LOSS, INCONCLUSIVE), `slow` the baseline of `fast`, every field of the verdict set by
// hand.
SampleRun HandMadeRun();

// A manifest of `cases` cases and J launches, with ceilings.
Manifest SampleManifest(const std::vector<std::string>& cases, const std::vector<std::string>& variants,
                        int launches);

// One launch of one case that ended well: `us` gives each variant's device time, host time is 2 µs more.
// Samples and null arm differ from that by a fixed jitter of about `spread`, which depends on case and launch
// only.
LaunchRecord SampleLaunch(const Manifest& manifest, const std::string& case_name, int launch,
                          const std::map<std::string, double>& us, double spread);

// A gate run that passed, for each case, variant and of two seeds.
std::vector<GateRecord> SampleGates(const Manifest& manifest);

}  // namespace pagoda::judge
