// From what was asked for to what will be run: cases, variants, arms, and the manifest that says so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "judge/bench/executor.h"
#include "judge/bench/gate.h"
#include "judge/bench/protocol.h"
#include "judge/bench/subject.h"
#include "judge/bench/suite.h"
#include "judge/record/record.h"

namespace pagoda::judge {

struct Selection {
  std::vector<std::string> variants;  // empty: the suite's, else all; {"all"}: all
  std::vector<std::string> added;     // come after those, unless they are among them
  std::string baseline;             // empty: the suite's if it is among the variants, else the first variant
  std::string only;                 // regular expression (RE2) that finds a case's name; empty: all cases
  bool cold = false, warm = false;  // this cache state for all cases, or both; neither: the suite's
};

struct RunSetup {
  std::string suite, about;
  std::vector<CaseSpec> cases;
  std::vector<CaseFacts> facts;
  std::vector<std::string> variants;  // in the order asked for
  std::vector<std::string> choosers;  // of them
  std::string baseline;
  std::vector<Unsupported> unsupported;
  std::vector<std::string> left_out;  // by a budget, a sentence each
  double budget_s = 0;                // the suite's own; 0: no limit
  double epoch_ms = 0;                // the suite's own; 0: the protocol's
  int warmups = 0, samples = 0;       // the least, as the suite says

  // The protocol with what the suite says of it, for a run of so many launches.
  ProtocolOptions Protocol(int launches) const;

  bool Supports(std::string_view case_name, std::string_view variant) const;
  // Pairs of a case and a variant besides the baseline, for the adjustment of p-values.
  int Contrasts() const { return static_cast<int>(variants.size()) - 1; }
  // What the gate runs: every case with the variants that support it.
  std::vector<GateCase> GateCases() const;
  // What is timed: the variants that support a case and have no failed gate run on it, where the baseline is
  // among them with another one (or is alone in the run), and the null arm.
  std::vector<CaseArms> TimedCases(const std::vector<GateRecord>& failures) const;
};

// Throws Error(--variants, --baseline, --only) with "did you mean"; a variant twice, a pattern that finds
// nothing.
RunSetup MakeSetup(const Suite& suite, const Selection& selection, const Subject& subject);

// Facts and support of the setup's cases, anew.
void DescribeCases(RunSetup& setup, const Subject& subject);

// The fewest launches at which a contrast can be decided after adjustment, and the number to take: what was
// asked for (0: not said), else 12 or the fewest, whichever is more.
int FewestLaunches(const RunSetup& setup);
int LaunchesToRun(const RunSetup& setup, int asked);

// What the setup says of a manifest; run id, time, machine and protocol are the caller's.
Manifest ManifestOf(const RunSetup& setup);

// What a reader of the report might think was measured: other machines and thread counts, what a budget left
// out, and the phases, cache states and dtypes that no case has.
std::vector<std::string> NotMeasured(const RunSetup& setup, int threads);

}  // namespace pagoda::judge
