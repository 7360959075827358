#include "judge/report/html_picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "judge/report/html_parts.h"
#include "judge/report/text.h"

namespace pagoda::judge {

std::string SvgPicture(const Picture& picture) {
  const auto across = [&](double value) { return SvgLength(picture.x.At(value)); };
  const auto down = [&](double value) { return SvgLength(1 - picture.y.At(value)); };
  std::string html = fmt::format(
      "<figure>\n<figcaption>{}</figcaption>\n<svg class=\"scatter\" role=\"img\"><title>{}</title>"
      "<desc>{}</desc>\n",
      HtmlText(picture.y_title), HtmlText(picture.title), HtmlText(picture.description));
  for (const Band& band : picture.bands) {
    html += fmt::format(
        "<rect class=\"zone\" x=\"{}\" width=\"{}\" height=\"100%\"><title>{}</title></rect>\n",
        across(band.low), SvgLength(picture.x.At(band.high) - picture.x.At(band.low)), HtmlText(band.title));
  }
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
                    s.css_class, across(s.x1), down(s.y1), across(s.x2), down(s.y2), HtmlText(s.title));
  }
  for (const Point& p : picture.points) {
    const std::string mark = VariantMarkId(p.variant);
    html += fmt::format("<use class=\"{0}\" href=\"#{0}\" x=\"{1}\" y=\"{2}\"><title>{3}</title></use>\n",
                        mark, across(p.x), down(p.y), HtmlText(p.title));
  }
  return html + fmt::format("</svg>\n<p class=\"x-title\">{}</p>\n</figure>\n", HtmlText(picture.x_title));
}

std::vector<double> Coordinates(const std::vector<Point>& points, double Point::* coordinate) {
  std::vector<double> values(points.size());
  std::transform(points.begin(), points.end(), values.begin(),
                 [coordinate](const Point& p) { return p.*coordinate; });
  return values;
}

}  // namespace pagoda::judge
