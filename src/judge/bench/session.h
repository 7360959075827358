// A whole run into a directory: manifest, gate, schedule, launches. Everything from outside comes in by
// hooks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "judge/bench/budget.h"
#include "judge/bench/child_runner.h"
#include "judge/bench/executor.h"
#include "judge/bench/gate.h"
#include "judge/bench/setup.h"
#include "judge/record/record.h"

namespace pagoda::judge {

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kRecordsFile = "records.jsonl";

struct SessionOptions {
  std::filesystem::path directory;
  int launches = 0;     // asked for; 0: the rule's
  double budget_s = 0;  // of the whole run, gate included; 0: none
  bool resume = false;
  ProtocolOptions protocol;
  EnvironmentLimits limits;
};

// Whether a run may begin in the directory, or go on there, before anything is waited for or measured. Makes
// the directory. Of a run to resume gives the recorded manifest, which must define the same run as `asked`
// but for what is measured. Throws Error(--out) when the directory holds a run or can't be written to, and
// Error(--resume) when it holds none or another one.
std::optional<Manifest> OpenRunDirectory(const SessionOptions& options, const Manifest& asked);

struct SessionHooks {
  ChildRunner& runner;
  std::function<bool()> stop;     // the user asked to stop
  std::function<double()> now_s;  // steady clock
  std::function<void()>
      before_rerun;  // of a contaminated launch; may wait for a quieter machine; may be empty
  // What goes on now: "gate", "pilot" or "launches".
  std::function<void(std::string_view phase, const ExecutionProgress&)> progress;
  std::function<void(const std::string&)> note;  // what the user should know, one sentence
};

struct SessionResult {
  Manifest manifest;  // as written
  GateSummary gate;
  ExecutionSummary launches;
  bool interrupted = false;
  bool nothing_to_time = false;  // no case on which the baseline and another variant passed the gate
};

// `manifest` is ManifestOf(setup) with run id, time, machine, delta, seed and threads filled in. Its launches
// are set here. Order: the gate over all cases and variants; with a budget a pilot of every case, which says
// what to shorten; the launches of the cases that passed. The manifest is written before the gate and, with a
// budget, once more before the first launch. Throws what OpenRunDirectory does.
SessionResult RunSession(const RunSetup& setup, Manifest manifest, const SessionOptions& options,
                         const SessionHooks& hooks);

}  // namespace pagoda::judge
