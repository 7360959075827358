// What every printer is given, and the look-ups that they share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "judge/verdict/overall.h"

namespace pagoda::judge {

// A report is a pure function of these three. They outlive the call.
struct Replay {
  const Manifest& manifest;
  const Records& records;
  const RunVerdict& run;
};

// Paths to name in a report; empty: not named. A printer reads none of them.
struct ReportPaths {
  std::string records;               // the raw data
  std::vector<std::string> reports;  // written beside it
};

// Short name of a variant in tables: "A" is the baseline, then "B", "C", … in the manifest's order, "AA"
// after "Z".
// "-" for a variant that isn't in the manifest.
std::string LabelOf(const Manifest& manifest, std::string_view variant);

// Variants in the order of their labels.
std::vector<std::string> VariantsByLabel(const Manifest& manifest);

// Null when there is none.
const Figures* FindFigures(const RunVerdict& run, std::string_view case_name, std::string_view variant);
const Contrast* FindContrast(const RunVerdict& run, std::string_view variant);
const CaseVerdict* FindCase(const Contrast& contrast, std::string_view case_name);
const CaseRanking* FindRanking(const RunVerdict& run, std::string_view case_name);
const ManifestCase* FindManifestCase(const Manifest& manifest, std::string_view case_name);

// What the records hold of one variant's gate runs.
struct GateTally {
  std::string variant;
  int passed = 0, total = 0;
  std::string same_bits_as;  // the variant whose bits it promises; empty: none
  int same_bits = 0;         // runs that found them
};
// In the order in which the variants first come up.
std::vector<GateTally> GateTallies(const Records& records);

// A setting that is a number; 0 where it isn't there or isn't one.
int64_t CountSetting(const Manifest& manifest, const std::string& name);

// What the records say about the time that they took and the state of the machine. All but the first two are
// over the launches that ended well.
struct Conditions {
  int launches = 0;      // records of launches
  double elapsed_s = 0;  // of all of them together
  int good = 0;          // launches that ended well
  int least_blocks = 0, most_blocks = 0;
  int64_t least_calls = 0, most_calls = 0;  // per epoch
  double most_load = 0, most_steal = 0, most_other_busy = 0;
  int64_t most_switches = 0;           // involuntary, of one launch
  double least_mhz = 0, most_mhz = 0;  // 0: not readable
  double hottest_c = 0;                // 0: not readable
  int64_t throttle_events = -1;        // summed over launches; -1: not readable
  double clock_resolution_ns = 0;      // largest
  bool null_arm = false;               // some launch timed one
};
Conditions ConditionsOf(const Records& records);

}  // namespace pagoda::judge
