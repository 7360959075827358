// Records and manifests as JSON values; the text and the files around them are jsonl.h's.
#pragma once

#include "base/io/json.h"
#include "judge/record/record.h"

namespace pagoda::judge {

// Numbers that aren't finite become null, which the decoders refuse except where a comment of theirs says
// otherwise.
nlohmann::json Encode(const LaunchRecord& record);
nlohmann::json Encode(const GateRecord& record);
nlohmann::json Encode(const Manifest& manifest);

// Unknown keys are passed over: a later writer may add some without a new schema. Everything else that
// doesn't fit throws Error with the path of the field.
LaunchRecord DecodeLaunch(const io::JsonField& line);
GateRecord DecodeGate(const io::JsonField& line);
Manifest DecodeManifest(const io::JsonField& file);

// Shared by the decoders. Throws Error naming `key` inside `field`.
int IntAtLeast(const io::JsonField& field, std::string_view key, int least);
double NumberAtLeast(const io::JsonField& field, std::string_view key, double least);
std::string CacheIn(const io::JsonField& field);  // "cold" or "warm"
void RequireSchema(const io::JsonField& field, int newest);

}  // namespace pagoda::judge
