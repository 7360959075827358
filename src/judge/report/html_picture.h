// A plot on two logarithmic axes as a figure of report.html.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "judge/report/log_axis.h"

namespace pagoda::judge {

struct Point {
  double x = 0, y = 0;
  size_t variant = 0;  // place in VariantsByLabel
  std::string title;
};

// A line from (x1, y1) to (x2, y2), straight on logarithmic axes.
struct Segment {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  std::string css_class;
  std::string title;
};

// A stretch of the x axis, behind everything else.
struct Band {
  double low = 0, high = 0;
  std::string title;
};

struct Picture {
  std::string title, description;
  std::string x_title, y_title;
  LogAxis x, y;
  std::vector<Band> bands;
  std::vector<Segment> segments;
  std::vector<Point> points;
};

// All coordinates must be drawable. HTML.
std::string SvgPicture(const Picture& picture);

// One coordinate of all points.
std::vector<double> Coordinates(const std::vector<Point>& points, double Point::* coordinate);

}  // namespace pagoda::judge
