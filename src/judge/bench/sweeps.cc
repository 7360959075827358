#include "judge/bench/sweeps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>

#include "judge/bench/case_name.h"
#include "pagoda/status.h"

namespace pagoda::judge {
namespace {

struct AxisTraits {
  SweepAxis axis;
  std::string_view name;
  size_t part;  // of a case's name, between underscores, that holds the number
  std::string_view open;
  int64_t (*value)(const CaseSpec& spec);
};

int64_t RatioOf(const CaseSpec& spec) { return spec.q_heads / spec.kv_heads; }

// In the order of SweepAxis.
constexpr std::array kAxes = {
    AxisTraits{SweepAxis::kContext, "context", 3, "s*",
               [](const CaseSpec& spec) { return spec.contexts.front(); }},
    AxisTraits{SweepAxis::kBatch, "batch", 0, "b*",
               [](const CaseSpec& spec) { return std::ssize(spec.contexts); }},
    AxisTraits{SweepAxis::kPageSize, "page_size", 4, "bs*",
               [](const CaseSpec& spec) { return spec.page_size; }},
    AxisTraits{SweepAxis::kQueryHeads, "ratio", 1, "h*", RatioOf},
    AxisTraits{SweepAxis::kKvHeads, "ratio", 2, "kv*", RatioOf},
    AxisTraits{SweepAxis::kQueries, "queries", 7, "q*",
               [](const CaseSpec& spec) { return spec.queries.front(); }},
};

const AxisTraits& TraitsOf(SweepAxis axis) { return kAxes[static_cast<size_t>(axis)]; }

// The case's name with its number on the axis left open.
std::string SweepName(const CaseSpec& spec, const AxisTraits& axis) {
  std::string name = CaseName(spec);
  size_t start = 0;
  for (size_t part = 0; part < axis.part; ++part) start = name.find('_', start) + 1;
  return name.replace(start, std::min(name.find('_', start), name.size()) - start, axis.open);
}

bool SameInAll(const std::vector<CaseSpec>& cases, int64_t CaseSpec::* field) {
  return std::all_of(cases.begin(), cases.end(),
                     [&](const CaseSpec& spec) { return spec.*field == cases.front().*field; });
}

SweepAxis AxisNamed(std::string_view name, const std::vector<CaseSpec>& cases) {
  if (name == "ratio") {
    if (SameInAll(cases, &CaseSpec::q_heads)) return SweepAxis::kKvHeads;
    if (SameInAll(cases, &CaseSpec::kv_heads)) return SweepAxis::kQueryHeads;
    throw Error(
        ErrorCode::kInvalidArgument, "heads",
        "must keep the query heads or the kv heads the same over a sweep of their ratio, as 16/16, 16/8, "
        "16/4 do");
  }
  return std::find_if(kAxes.begin(), kAxes.end(), [&](const AxisTraits& x) { return x.name == name; })->axis;
}

}  // namespace

std::vector<std::string> SweepAxisNames() {
  std::vector<std::string> names;
  for (const AxisTraits& axis : kAxes) {
    if (names.empty() || names.back() != axis.name) names.emplace_back(axis.name);
  }
  return names;
}

void MarkSwept(std::string_view axis, std::vector<CaseSpec>& cases) {
  const SweepAxis found = AxisNamed(axis, cases);
  for (CaseSpec& spec : cases) {
    if (std::adjacent_find(spec.queries.begin(), spec.queries.end(), std::not_equal_to<>()) !=
        spec.queries.end()) {
      throw Error(ErrorCode::kInvalidArgument, "phase",
                  "gives the sequences of a batch unlike query rows, and a sweep needs them all alike");
    }
    spec.sweeps.push_back(found);
  }
}

std::vector<Sweep> SweepsOf(const std::vector<CaseSpec>& cases) {
  std::vector<Sweep> sweeps;
  for (const CaseSpec& spec : cases) {
    for (const SweepAxis mark : spec.sweeps) {
      const AxisTraits& axis = TraitsOf(mark);
      const std::string name = SweepName(spec, axis);
      auto sweep = std::find_if(sweeps.begin(), sweeps.end(), [&](const Sweep& x) { return x.name == name; });
      if (sweep == sweeps.end()) sweep = sweeps.insert(sweep, {name, std::string(axis.name), {}});
      const int64_t value = axis.value(spec);
      std::vector<SweepPoint>& points = sweep->points;
      const auto place = std::lower_bound(points.begin(), points.end(), value,
                                          [](const SweepPoint& point, int64_t x) { return point.value < x; });
      if (place != points.end() && place->value == value) {
        throw Error(ErrorCode::kInvalidArgument, "sweep",
                    fmt::format("has {} twice on its axis {}, as {} and as {}: leave one of the two away",
                                value, axis.name, place->case_name, spec.name));
      }
      points.insert(place, {spec.name, value});
    }
  }
  std::erase_if(sweeps, [](const Sweep& sweep) { return sweep.points.size() < 2; });
  return sweeps;
}

bool IsSwept(std::string_view case_name, std::string_view axis, const std::vector<Sweep>& sweeps) {
  return std::any_of(sweeps.begin(), sweeps.end(), [&](const Sweep& sweep) {
    return sweep.axis == axis &&
           std::any_of(sweep.points.begin(), sweep.points.end(),
                       [&](const SweepPoint& point) { return point.case_name == case_name; });
  });
}

}  // namespace pagoda::judge
