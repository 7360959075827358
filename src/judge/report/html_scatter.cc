#include "judge/report/html_scatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "base/listed.h"
#include "judge/report/html_parts.h"
#include "judge/report/log_axis.h"
#include "judge/report/numbers.h"
#include "judge/report/text.h"

namespace pagoda::judge {
namespace {

constexpr double kLeastSpan = 10;         // of the axes of time, rate and intensity
constexpr double kLeastRatioSpan = 1.05;  // host time / device time is often nearly 1
constexpr size_t kDashes = 4;             // line styles in report.css

struct Point {
  double x = 0, y = 0;
  size_t variant = 0;  // place in VariantsByLabel
  std::string title;
};

// A ceiling from (x1, y1) to (x2, y2), straight on logarithmic axes.
struct Segment {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  size_t dash = 0;
  std::string title;
};

struct Picture {
  std::string title, description;
  std::string x_title, y_title;
  LogAxis x, y;
  std::vector<Segment> segments;
  std::vector<Point> points;
};

std::string LineClass(const Segment& segment) { return fmt::format("dash{}", segment.dash % kDashes); }

std::string Draw(const Picture& picture) {
  const auto across = [&](double value) { return SvgLength(picture.x.At(value)); };
  const auto down = [&](double value) { return SvgLength(1 - picture.y.At(value)); };
  std::string html = fmt::format(
      "<figure>\n<figcaption>{}</figcaption>\n<svg class=\"scatter\" role=\"img\"><title>{}</title>"
      "<desc>{}</desc>\n",
      HtmlText(picture.y_title), HtmlText(picture.title), HtmlText(picture.description));
  for (const double tick : TicksOf(picture.x)) {
    html += fmt::format(
        "<line class=\"tick\" x1=\"{0}\" x2=\"{0}\" y2=\"100%\"/><text class=\"x\" x=\"{0}\" y=\"100%\" "
        "dy=\"1.3em\">{1}</text>\n",
        across(tick), TickText(tick));
  }
  for (const double tick : TicksOf(picture.y)) {
    html += fmt::format(
        "<line class=\"tick\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/><text class=\"y\" x=\"0\" y=\"{0}\" "
        "dx=\"-0.5em\" dy=\"0.35em\">{1}</text>\n",
        down(tick), TickText(tick));
  }
  for (const Segment& s : picture.segments) {
    html +=
        fmt::format("<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"><title>{}</title></line>\n",
                    LineClass(s), across(s.x1), down(s.y1), across(s.x2), down(s.y2), HtmlText(s.title));
  }
  for (const Point& p : picture.points) {
    const std::string mark = VariantMarkId(p.variant);
    html += fmt::format("<use class=\"{0}\" href=\"#{0}\" x=\"{1}\" y=\"{2}\"><title>{3}</title></use>\n",
                        mark, across(p.x), down(p.y), HtmlText(p.title));
  }
  return html + fmt::format("</svg>\n<p class=\"x-title\">{}</p>\n</figure>\n", HtmlText(picture.x_title));
}

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

std::vector<double> Values(const std::vector<Point>& points, double Point::* coordinate) {
  std::vector<double> values(points.size());
  std::transform(points.begin(), points.end(), values.begin(),
                 [coordinate](const Point& p) { return p.*coordinate; });
  return values;
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
    const double peak = PeakAt(manifest.ceilings, c.dtype, manifest.threads);
    const std::string length = c.run_bytes > 0 ? "runs of " + Bytes(c.run_bytes) : "one stream";
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

// The ceilings within the picture. Bandwidth rises as y = GB/s * x and ends at the highest peak.
std::vector<Segment> SegmentsOf(const Roof& roof, const LogAxis& x, const LogAxis& y) {
  std::vector<Segment> segments;
  const double top = roof.peak.rbegin()->first;
  const double widest = roof.bandwidth.rbegin()->first;
  for (const auto& [bandwidth, title] : roof.bandwidth) {
    const double start = std::max(x.low, y.low / bandwidth), end = std::min(x.high, top / bandwidth);
    if (start < end)
      segments.push_back({start, bandwidth * start, end, bandwidth * end, segments.size(), title});
  }
  for (const auto& [peak, title] : roof.peak) {
    const double start = std::max(x.low, peak / widest);
    if (start < x.high) segments.push_back({start, peak, x.high, peak, segments.size(), title});
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
                    LineClass(s), HtmlText(s.title)));
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

  std::vector<double> x = Values(picture.points, &Point::x), y = Values(picture.points, &Point::y);
  for (const auto& [bandwidth, title] : roof.bandwidth) x.push_back(roof.peak.rbegin()->first / bandwidth);
  for (const auto& [peak, title] : roof.peak) y.push_back(peak);
  picture.x = AxisOver(x, kLeastSpan);
  picture.y = AxisOver(y, kLeastSpan);
  picture.segments = SegmentsOf(roof, picture.x, picture.y);
  std::string html = HtmlLegend(VariantLegend(replay.manifest)) + HtmlLegend(RoofLegend(picture.segments));
  if (AnyWarm(replay.manifest)) {
    html += "<p>Warm cases find their inputs in the cache, so memory doesn't bound them.</p>\n";
  }
  return html + Draw(picture);
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
  std::vector<double> ratios = Values(picture.points, &Point::y);
  ratios.push_back(1);
  picture.x = AxisOver(Values(picture.points, &Point::x), kLeastSpan);
  picture.y = AxisOver(ratios, kLeastRatioSpan);
  return HtmlLegend(VariantLegend(replay.manifest)) + Draw(picture);
}

}  // namespace pagoda::judge
