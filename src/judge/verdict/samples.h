// Records sorted by case: which launches count, what failed, and the launch values of a contrast.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "judge/record/record.h"
#include "judge/verdict/case.h"

namespace pagoda::judge {

struct Failure {
  Reason reason = Reason::kGateFailed;
  std::string why;
};

struct CaseRecords {
  const ManifestCase* facts = nullptr;
  // By launch number: of each launch the first attempt that was timed whole and not contaminated. A launch
  // whose output check failed counts too: its other arms were timed as well as any.
  std::vector<const LaunchRecord*> usable;
  int left_out = 0;   // launches of which every attempt was contaminated
  int rerun = 0;      // contaminated attempts that a later one replaced
  int failed = 0;     // launches that hung or crashed, without a usable attempt
  int never_run = 0;  // launches without a record
  std::map<std::string, Failure, std::less<>> failures;         // by variant: its worst, gate before timing
  std::map<std::string, std::string, std::less<>> unsupported;  // by variant: why
  std::map<std::string, int, std::less<>> passed_checks;        // by variant: gate runs and timed outputs
};

// In the manifest's order of cases. Keeps pointers into both arguments. Throws Error(manifest.FIELD) when the
// manifest contradicts itself, Error(FILE:LINE: FIELD), of records that were read from no file
// Error(records.launches[i].FIELD) or Error(records.gates[i].FIELD), when a record doesn't belong to it.
std::vector<CaseRecords> SortRecords(const Manifest& manifest, const Records& records);

// The arm's samples if it was timed whole in this launch, else null.
const ArmSamples* FindArm(const LaunchRecord& launch, std::string_view variant, int link);
const std::vector<double>& TimesOf(const ArmSamples& arm, Clock clock);

// Launch values of `variant` against `baseline`, with the null arm of `null_variant` (the run's baseline):
// one of each for every usable launch that timed all of them. Null values are left empty when no launch timed
// a null arm.
ContrastSample SampleOf(const CaseRecords& records, std::string_view variant, std::string_view baseline,
                        std::string_view null_variant, Clock clock);

// The clock's resolution as a part of the shortest median epoch of the two arms, the largest over the
// launches.
double CoarsenessOf(const CaseRecords& records, std::string_view variant, std::string_view baseline,
                    Clock clock);

// Per launch the weighted mean of the case values. Launches are independent, so the i-th value of one case
// joins the i-th of every other; the shortest case sets how many there are.
ContrastSample WeightedMean(const std::vector<ContrastSample>& samples, const std::vector<double>& weights);

}  // namespace pagoda::judge
