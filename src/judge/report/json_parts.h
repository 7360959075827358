// What report.json and the JSON of a comparison have in common.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "judge/report/replay.h"

namespace pagoda::judge {

// Writes a number that isn't finite as null.
using Json = nlohmann::ordered_json;

Json Known(double value);  // null for 0, which means "not known"
Json ToJson(const Estimate& e);
Json ToJson(Reason reason);
Json ToJson(const Counts& c);
// Everything of an outcome but the ratio, whose name differs.
void AddOutcome(const Outcome& o, Json& json);
// What was run.
void AddRun(const Manifest& manifest, Json& json);
// The verdict of the whole run.
void AddVerdict(const RunVerdict& run, Json& json);

}  // namespace pagoda::judge
