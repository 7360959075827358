#include "judge/report/html_scatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "base/listed.h"
#include "judge/report/html_parts.h"
#include "judge/report/html_picture.h"
#include "judge/report/log_axis.h"
#include "judge/report/numbers.h"
#include "judge/report/text.h"

namespace pagoda::judge {
namespace {

constexpr double kLeastSpan = 10;         // of the axes of time, rate and intensity
constexpr double kLeastRatioSpan = 1.05;  // host time / device time is often nearly 1
constexpr size_t kDashes = 4;             // line styles in report.css

// What stands at each case and variant that was timed; `make` gives nothing drawable where it can't say.
template <typename MakePoint>
std::vector<Point> PointsOf(const Replay& replay, MakePoint make) {
  std::vector<Point> points;
  const std::vector<std::string> variants = VariantsByLabel(replay.manifest);
  for (const ManifestCase& c : replay.manifest.cases) {
    for (size_t i = 0; i < variants.size(); ++i) {
      const Figures* figures = FindFigures(replay.run, c.name, variants[i]);
      if (figures == nullptr) continue;
      Point point = make(c, *figures);
      if (!Drawable(point.x) || !Drawable(point.y)) continue;
      point.variant = i;
      point.title = fmt::format("{} {} on {}: {}", LabelOf(replay.manifest, variants[i]), variants[i], c.name,
                                point.title);
      points.push_back(std::move(point));
    }
  }
  return points;
}

// The ceilings that bound the cases, each once: GB/s with the run length it holds for, GFLOP/s with the
// dtypes.
struct Roof {
  std::map<double, std::string> bandwidth;
  std::map<double, std::string> peak;
};

Roof RoofOf(const Manifest& manifest) {
  Roof roof;
  std::map<double, std::set<std::string>> dtypes;
  for (const ManifestCase& c : manifest.cases) {
    const double bandwidth = BandwidthAt(manifest.ceilings, c.run_bytes, manifest.threads);
    const double peak = PeakOf(manifest.ceilings, c.dtype, manifest.threads).gflop_per_s;
    const std::string length = c.run_bytes > 0 ? "runs of " + Bytes(c.run_bytes) : "streams";
    if (Drawable(bandwidth)) {
      roof.bandwidth[bandwidth] = fmt::format("memory, {}: {} GB/s", length, Significant(bandwidth));
    }
    if (Drawable(peak)) dtypes[peak].insert(c.dtype);
  }
  for (const auto& [peak, names] : dtypes) {
    roof.peak[peak] =
        fmt::format("arithmetic, {}: {} GFLOP/s", Listed({names.begin(), names.end()}), Significant(peak));
  }
  // Many page sizes have many ceilings close together; the outermost say how far they reach.
  if (roof.bandwidth.size() > 2) {
    roof.bandwidth.erase(std::next(roof.bandwidth.begin()), std::prev(roof.bandwidth.end()));
  }
  return roof;
}

std::string DashOf(size_t ceiling) { return fmt::format("dash{}", ceiling % kDashes); }

// The ceilings within the picture. Bandwidth rises as y = GB/s * x and ends at the highest peak.
std::vector<Segment> SegmentsOf(const Roof& roof, const LogAxis& x, const LogAxis& y) {
  std::vector<Segment> segments;
  const double top = roof.peak.rbegin()->first;
  const double widest = roof.bandwidth.rbegin()->first;
  for (const auto& [bandwidth, title] : roof.bandwidth) {
    const double start = std::max(x.low, y.low / bandwidth), end = std::min(x.high, top / bandwidth);
    if (start < end)
      segments.push_back({start, bandwidth * start, end, bandwidth * end, DashOf(segments.size()), title});
  }
  for (const auto& [peak, title] : roof.peak) {
    const double start = std::max(x.low, peak / widest);
    if (start < x.high) segments.push_back({start, peak, x.high, peak, DashOf(segments.size()), title});
  }
  return segments;
}

std::vector<std::string> RoofLegend(const std::vector<Segment>& segments) {
  std::vector<std::string> items;
  items.reserve(segments.size());
  for (const Segment& s : segments) {
    items.push_back(
        fmt::format("<svg class=\"mark\" aria-hidden=\"true\"><line class=\"{}\" x2=\"100%\" "
                    "y1=\"50%\" y2=\"50%\"/></svg> {}",
                    s.css_class, HtmlText(s.title)));
  }
  return items;
}

struct Unit {
  double us;
  const char* name;
};

// The largest in which no time is below 1: labels of an axis stay short.
Unit UnitOf(const std::vector<Point>& points) {
  double least = std::numeric_limits<double>::infinity();
  for (const Point& p : points) least = std::min(least, p.x);
  return least >= 1e6 ? Unit{1e6, "s"} : least >= 1e3 ? Unit{1e3, "ms"} : Unit{1, "µs"};
}

bool AnyWarm(const Manifest& manifest) {
  return std::any_of(manifest.cases.begin(), manifest.cases.end(),
                     [](const ManifestCase& c) { return c.cache == "warm"; });
}

}  // namespace

std::string RooflinePlot(const Replay& replay) {
  const Roof roof = RoofOf(replay.manifest);
  if (roof.bandwidth.empty() || roof.peak.empty()) {
    return "<p>The manifest has no ceilings of both memory and arithmetic, so there is no roofline.</p>\n";
  }
  Picture picture{.title = "Roofline",
                  .description =
                      "Each point is a variant on a case. The lines are what memory and arithmetic "
                      "of this machine allow; the table of cases has the same as numbers.",
                  .x_title = "FLOP/byte",
                  .y_title = "GFLOP/s",
                  .x = {},
                  .y = {},
                  .bands = {},
                  .segments = {},
                  .points = {}};
  picture.points = PointsOf(replay, [](const ManifestCase& c, const Figures& f) {
    const double intensity = c.flops / c.bytes;
    const std::string share =
        f.roofline_fraction > 0 ? fmt::format(", {} of the roofline", Percent(f.roofline_fraction)) : "";
    return Point{.x = intensity,
                 .y = f.gflop_per_s,
                 .title = fmt::format("{} GFLOP/s at {} FLOP/byte{}{}", Significant(f.gflop_per_s),
                                      Significant(intensity), share, f.suspect ? " (suspect)" : "")};
  });
  if (picture.points.empty()) return "<p>Nothing was timed, so the roofline has no points.</p>\n";

  std::vector<double> x = Coordinates(picture.points, &Point::x), y = Coordinates(picture.points, &Point::y);
  for (const auto& [bandwidth, title] : roof.bandwidth) x.push_back(roof.peak.rbegin()->first / bandwidth);
  for (const auto& [peak, title] : roof.peak) y.push_back(peak);
  picture.x = AxisOver(x, kLeastSpan);
  picture.y = AxisOver(y, kLeastSpan);
  picture.segments = SegmentsOf(roof, picture.x, picture.y);
  std::string html = HtmlLegend(VariantLegend(replay.manifest)) + HtmlLegend(RoofLegend(picture.segments));
  if (AnyWarm(replay.manifest)) {
    html += "<p>Warm cases find their inputs in the cache, so memory doesn't bound them.</p>\n";
  }
  return html + SvgPicture(picture);
}

std::string HostPlot(const Replay& replay) {
  Picture picture{.title = "Host time / device time",
                  .description =
                      "Each point is a variant on a case; above 1 is what validation, planning "
                      "and submission add. The table of cases has both times as numbers.",
                  .x_title = "device time, ",
                  .y_title = "host time / device time",
                  .x = {},
                  .y = {},
                  .bands = {},
                  .segments = {},
                  .points = {}};
  picture.points = PointsOf(replay, [](const ManifestCase&, const Figures& f) {
    const double ratio = f.host_us / f.device_us;
    return Point{
        .x = f.device_us,
        .y = ratio,
        .title = fmt::format("host {} = {} device {}", Micros(f.host_us), Ratio(ratio), Micros(f.device_us))};
  });
  if (picture.points.empty()) return "<p>Nothing was timed.</p>\n";
  const Unit unit = UnitOf(picture.points);
  picture.x_title += unit.name;
  for (Point& point : picture.points) point.x /= unit.us;
  std::vector<double> ratios = Coordinates(picture.points, &Point::y);
  ratios.push_back(1);
  picture.x = AxisOver(Coordinates(picture.points, &Point::x), kLeastSpan);
  picture.y = AxisOver(ratios, kLeastRatioSpan);
  return HtmlLegend(VariantLegend(replay.manifest)) + SvgPicture(picture);
}

}  // namespace pagoda::judge
