// Sweeps in words and tables: who is ahead where, and from where on another variant is.
#pragma once

#include <string>
#include <vector>

#include "judge/report/replay.h"
#include "judge/report/text.h"

namespace pagoda::judge {

// "b from 2,150 [1,900, 2,400] keys on, a below"; an interval that reaches beyond what was measured says so:
// "[below 64, 2,400]". Without an estimate: "b from somewhere between 1,024 and 4,096 keys on, …".
std::string CrossoverText(const SweepVerdict& sweep, const Crossover& crossover);

// Whether all points of the sweep have the same winners.
bool IsSteady(const SweepVerdict& sweep);

// The crossovers between variants that are both beaten by nobody somewhere on the sweep: those of a dispatch
// rule. In the order of the axis; pointers into the sweep.
std::vector<const Crossover*> LeadingCrossovers(const SweepVerdict& sweep);

// Of a sweep that isn't steady: those crossovers, then who gains a lead without one. Full sentences.
std::vector<std::string> SweepSentences(const SweepVerdict& sweep);

// Of all that are, by who leads: "No change of lead: C on b1_…; A or C (shown to be the same) on b8_… and
// 2 more. Undecided who leads: A or B on b4_…." Empty without one.
std::string SteadySentence(const Replay& replay, size_t most_names);

// Stretches of the axis with the same winners, by their labels.
Table StandingsTable(const Replay& replay, const SweepVerdict& sweep);

// Every crossover of the run, in the order of the sweeps; rows may be none.
Table CrossoverTable(const Replay& replay);

// "All 7 crossovers, 5 of them with a variant that leads nowhere on its sweep".
std::string CrossoverCount(const Replay& replay);

// What the numbers rest on: the clock, the launch value, the straight line between two points.
std::string SweepLegend(const Replay& replay);

// "keys" of a context, "sequences" of a batch …; the axis itself where it has no unit of its own.
std::string UnitOfAxis(const std::string& axis);

}  // namespace pagoda::judge
