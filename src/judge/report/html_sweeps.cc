#include "judge/report/html_sweeps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "judge/report/html_parts.h"
#include "judge/report/html_picture.h"
#include "judge/report/log_axis.h"
#include "judge/report/numbers.h"
#include "judge/report/sweeps.h"
#include "judge/report/text.h"

namespace pagoda::judge {
namespace {

constexpr double kLeastAxisSpan = 2;
constexpr double kLeastTimesSpan = 1.1;  // curves that lie on each other look so
constexpr size_t kMostNames = 4;

// NaN where it wasn't timed.
double TimeAt(const Replay& replay, const std::string& case_name, const std::string& variant) {
  const Figures* figures = FindFigures(replay.run, case_name, variant);
  if (figures == nullptr) return std::numeric_limits<double>::quiet_NaN();
  return replay.run.statistic == Statistic::kTypical ? figures->device_us : figures->device_floor_us;
}

// Over the time of the fastest, where curves cross: times that span decades would hide it.
std::vector<Point> PointsOf(const Replay& replay, const SweepVerdict& sweep) {
  std::vector<Point> points;
  const std::vector<std::string> variants = VariantsByLabel(replay.manifest);
  for (const SweepStanding& standing : sweep.points) {
    double least = std::numeric_limits<double>::infinity();
    for (const std::string& variant : variants) {
      const double time = TimeAt(replay, standing.case_name, variant);
      if (time < least) least = time;
    }
    for (size_t i = 0; i < variants.size(); ++i) {
      const double time = TimeAt(replay, standing.case_name, variants[i]);
      if (!Drawable(time / least)) continue;
      points.push_back({static_cast<double>(standing.value), time / least, i,
                        fmt::format("{} {} at {}: {}, {} of the least", LabelOf(replay.manifest, variants[i]),
                                    variants[i], Count(standing.value), Micros(time), Ratio(time / least))});
    }
  }
  return points;
}

// From each point to the next of the same variant.
std::vector<Segment> CurvesOf(const std::vector<Point>& points) {
  std::vector<Segment> curves;
  std::map<size_t, const Point*> last;
  for (const Point& point : points) {
    const Point*& before = last[point.variant];
    if (before != nullptr) {
      curves.push_back({before->x, before->y, point.x, point.y, VariantMarkId(point.variant), ""});
    }
    before = &point;
  }
  return curves;
}

// Those that the sentences are about.
void MarkCrossovers(const SweepVerdict& sweep, Picture& picture) {
  for (const Crossover* x : LeadingCrossovers(sweep)) {
    const std::string title = CrossoverText(sweep, *x);
    const double low = std::max(x->at.low, picture.x.low), high = std::min(x->at.high, picture.x.high);
    if (low < high) picture.bands.push_back({low, high, title});
    if (Drawable(x->at.value)) {
      picture.segments.push_back({x->at.value, picture.y.low, x->at.value, picture.y.high, "one", title});
    }
  }
}

std::string PlotOf(const Replay& replay, const SweepVerdict& sweep) {
  Picture picture{.title = "Curves over " + sweep.axis + ": " + sweep.name,
                  .description =
                      "A curve for each variant; where two cross, the lead changes. A line marks each "
                      "crossover of the sentences above, with its interval shaded.",
                  .x_title = UnitOfAxis(sweep.axis),
                  .y_title = "device time / the least of all variants",
                  .x = {},
                  .y = {},
                  .bands = {},
                  .segments = {},
                  .points = PointsOf(replay, sweep)};
  if (picture.points.empty()) return "<p>Nothing was timed.</p>\n";
  picture.x = AxisOver(Coordinates(picture.points, &Point::x), kLeastAxisSpan);
  picture.y = AxisOver(Coordinates(picture.points, &Point::y), kLeastTimesSpan);
  MarkCrossovers(sweep, picture);
  for (Segment& segment : CurvesOf(picture.points)) picture.segments.push_back(std::move(segment));
  return SvgPicture(picture);
}

std::string SteadyPlots(const Replay& replay) {
  const std::string words = SteadySentence(replay, kMostNames);
  if (words.empty()) return "";
  std::string html = fmt::format("<p>{}</p>\n<details>\n<summary>Their curves</summary>\n", HtmlText(words));
  for (const SweepVerdict& sweep : replay.run.sweeps) {
    if (IsSteady(sweep)) html += fmt::format("<h3>{}</h3>\n{}", HtmlName(sweep.name), PlotOf(replay, sweep));
  }
  return html + "</details>\n";
}

}  // namespace

std::string SweepSection(const Replay& replay) {
  if (replay.run.sweeps.empty()) return "";
  std::string html = fmt::format("<h2>Crossovers</h2>\n<p>{}</p>\n{}", HtmlText(SweepLegend(replay)),
                                 HtmlLegend(VariantLegend(replay.manifest)));
  for (const SweepVerdict& sweep : replay.run.sweeps) {
    if (IsSteady(sweep)) continue;
    html += fmt::format("<h3>Over {}: {}</h3>\n<ul>\n", HtmlText(sweep.axis), HtmlName(sweep.name));
    for (const std::string& sentence : SweepSentences(sweep)) {
      html += fmt::format("<li>{}</li>\n", HtmlText(sentence));
    }
    html +=
        "</ul>\n" + PlotOf(replay, sweep) + HtmlTable(StandingsTable(replay, sweep), "Who is ahead where");
  }
  html += SteadyPlots(replay);
  const Table all = CrossoverTable(replay);
  if (all.rows.empty()) return html;
  return html + fmt::format("<details>\n<summary>{}</summary>\n{}</details>\n", CrossoverCount(replay),
                            HtmlTable(all, "All crossovers"));
}

}  // namespace pagoda::judge
