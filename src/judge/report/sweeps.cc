#include "judge/report/sweeps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/listed.h"
#include "judge/report/numbers.h"

namespace pagoda::judge {
namespace {

struct AxisUnit {
  std::string_view axis, unit;
};
constexpr std::array kUnits = {AxisUnit{"context", "keys"}, AxisUnit{"batch", "sequences"},
                               AxisUnit{"page_size", "slots a page"},
                               AxisUnit{"ratio", "query heads a kv head"}, AxisUnit{"queries", "query rows"}};

bool Leads(const SweepVerdict& sweep, const std::string& variant) {
  return std::any_of(sweep.points.begin(), sweep.points.end(), [&](const SweepStanding& point) {
    return std::find(point.winners.begin(), point.winners.end(), variant) != point.winners.end();
  });
}

// Both ends, which may be open: "1,900" or "below 64".
std::string IntervalText(const Crossover& x) {
  const std::string low = x.at.low > 0 ? Significant(x.at.low) : "below " + Count(x.first);
  const std::string high = std::isfinite(x.at.high) ? Significant(x.at.high) : "beyond " + Count(x.last);
  return fmt::format("[{}, {}]", low, high);
}

bool HasPlace(const Crossover& x) { return x.at.value > 0 && std::isfinite(x.at.value); }

std::vector<std::string> LabelsOf(const Manifest& manifest, const std::vector<std::string>& variants) {
  std::vector<std::string> labels(variants.size());
  std::transform(variants.begin(), variants.end(), labels.begin(),
                 [&](const std::string& variant) { return LabelOf(manifest, variant); });
  std::sort(labels.begin(), labels.end());
  return labels;
}

std::string WinnersText(const std::vector<std::string>& names) {
  return names.empty() ? "nobody measured" : Listed(names, "or");
}

// Whether these are shown to be the same at every point.
bool AllTie(const SweepVerdict& sweep, const std::vector<std::string>& variants) {
  const auto among = [&](const std::string& variant) {
    return std::find(variants.begin(), variants.end(), variant) != variants.end();
  };
  return !variants.empty() && std::all_of(sweep.duels.begin(), sweep.duels.end(), [&](const SweepDuel& duel) {
    return duel.course == Course::kTie || !among(duel.a) || !among(duel.b);
  });
}

// Names of sweeps by what is said of them, in the order of the first of each.
using Groups = std::vector<std::pair<std::string, std::vector<std::string>>>;

void AddTo(Groups& groups, const std::string& what, const std::string& name) {
  auto at =
      std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == what; });
  if (at == groups.end()) at = groups.insert(at, {what, {}});
  at->second.push_back(name);
}

std::string GroupsText(std::string_view lead, const Groups& groups, size_t most_names) {
  std::string text;
  for (const auto& [what, names] : groups) {
    text += fmt::format("{}{} on {}", text.empty() ? lead : "; ", what, ListedUpTo(most_names, names));
  }
  return text.empty() ? text : text + ".";
}

}  // namespace

std::string UnitOfAxis(const std::string& axis) {
  const auto found =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const auto& x) { return x.axis == axis; });
  return found == kUnits.end() ? axis : std::string(found->unit);
}

std::string CrossoverText(const SweepVerdict& sweep, const Crossover& x) {
  const std::string unit = UnitOfAxis(sweep.axis);
  if (!HasPlace(x)) {
    return fmt::format("{} from somewhere between {} and {} {} on, {} below: launches don't agree where",
                       x.above, Count(x.below_until), Count(x.above_from), unit, x.below);
  }
  return fmt::format("{} from {} {} {} on, {} below", x.above, Significant(x.at.value), IntervalText(x), unit,
                     x.below);
}

bool IsSteady(const SweepVerdict& sweep) {
  return std::all_of(sweep.points.begin(), sweep.points.end(), [&](const SweepStanding& point) {
    return point.winners == sweep.points.front().winners;
  });
}

std::vector<const Crossover*> LeadingCrossovers(const SweepVerdict& sweep) {
  std::vector<const Crossover*> crossovers;
  for (const SweepDuel& duel : sweep.duels) {
    if (!Leads(sweep, duel.a) || !Leads(sweep, duel.b)) continue;
    for (const Crossover& x : duel.crossovers) crossovers.push_back(&x);
  }
  std::sort(crossovers.begin(), crossovers.end(), [](const Crossover* a, const Crossover* b) {
    return std::tie(a->above_from, a->below_until, a->above, a->below) <
           std::tie(b->above_from, b->below_until, b->above, b->below);
  });
  return crossovers;
}

std::vector<std::string> SweepSentences(const SweepVerdict& sweep) {
  const std::vector<const Crossover*> leading = LeadingCrossovers(sweep);
  std::vector<std::string> sentences;
  sentences.reserve(leading.size());
  for (const Crossover* x : leading) sentences.push_back(CrossoverText(sweep, *x) + ".");
  for (const SweepDuel& duel : sweep.duels) {
    if (duel.course != Course::kNeverBehind || !Leads(sweep, duel.a) || !Leads(sweep, duel.b)) continue;
    sentences.push_back(fmt::format("{} is ahead of {} at {} of {} points and behind at none.", duel.ahead,
                                    duel.ahead == duel.a ? duel.b : duel.a, duel.points_ahead, duel.points));
  }
  return sentences;
}

std::string SteadySentence(const Replay& replay, size_t most_names) {
  Groups steady, undecided;
  for (const SweepVerdict& sweep : replay.run.sweeps) {
    if (!IsSteady(sweep)) continue;
    const std::vector<std::string>& winners = sweep.points.front().winners;
    const std::string who = WinnersText(LabelsOf(replay.manifest, winners));
    if (winners.size() == 1) {
      AddTo(steady, who, sweep.name);
    } else if (AllTie(sweep, winners)) {
      AddTo(steady, who + " (shown to be the same)", sweep.name);
    } else {
      AddTo(undecided, who, sweep.name);
    }
  }
  const std::string known = GroupsText("No change of lead: ", steady, most_names);
  const std::string unknown = GroupsText("Undecided who leads: ", undecided, most_names);
  return known.empty() || unknown.empty() ? known + unknown : known + " " + unknown;
}

Table StandingsTable(const Replay& replay, const SweepVerdict& sweep) {
  Table table{.columns = {{UnitOfAxis(sweep.axis)}, {"beaten by none"}}};
  for (size_t i = 0, end = 0; i < sweep.points.size(); i = end) {
    const SweepStanding& point = sweep.points[i];
    while (end < sweep.points.size() && sweep.points[end].winners == point.winners) ++end;
    std::string range = Count(point.value);
    if (end - i > 1) range += " to " + Count(sweep.points[end - 1].value);
    table.rows.push_back({{range}, {WinnersText(LabelsOf(replay.manifest, point.winners))}});
  }
  return table;
}

Table CrossoverTable(const Replay& replay) {
  Table table{
      .columns = {{"sweep"}, {"from", true}, {"interval"}, {""}, {"ahead"}, {"below"}, {"launches", true}}};
  for (const SweepVerdict& sweep : replay.run.sweeps) {
    for (const SweepDuel& duel : sweep.duels) {
      for (const Crossover& x : duel.crossovers) {
        table.rows.push_back({{.text = sweep.name, .code = true},
                              {HasPlace(x) ? Significant(x.at.value) : ""},
                              {IntervalText(x)},
                              {UnitOfAxis(sweep.axis)},
                              {.text = x.above, .code = true},
                              {.text = x.below, .code = true},
                              {Count(x.launches)}});
      }
    }
  }
  return table;
}

std::string CrossoverCount(const Replay& replay) {
  size_t all = 0, leading = 0;
  for (const SweepVerdict& sweep : replay.run.sweeps) {
    leading += LeadingCrossovers(sweep).size();
    for (const SweepDuel& duel : sweep.duels) all += duel.crossovers.size();
  }
  return fmt::format("All {}, {} of them with a variant that leads nowhere on its sweep",
                     Counted(static_cast<int64_t>(all), "crossover", "crossovers"), all - leading);
}

std::string SweepLegend(const Replay& replay) {
  return fmt::format(
      "By device time and each launch's {} value, with 95% intervals over launches. Between two measured "
      "points a "
      "curve is taken for straight on logarithmic axes; closer points show how it bends.",
      NameOf(replay.run.statistic));
}

}  // namespace pagoda::judge
