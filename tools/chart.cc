// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tools/html.h"
#include "tools/json.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

// The page's script knows the width; the rest is in its data.
constexpr double kWidth = 640;
constexpr double kHeight = 220;
constexpr double kLeft = 56;
constexpr double kRight = 12;
constexpr double kTop = 8;
constexpr double kBottom = 24;
constexpr double kPlotWidth = kWidth - kLeft - kRight;
constexpr double kPlotHeight = kHeight - kTop - kBottom;
constexpr size_t kNumColours = 8;
constexpr double kLogRatio = 1000;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_empty() const { return low > high; }
};

// One axis: from values to places.
struct Scale {
  double low = 0;
  double high = 1;
  bool is_log = false;

  double part(double value) const {
    if (is_log) return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
    return (value - low) / (high - low);
  }
};

Scale scale_of(Range range, bool may_be_log) {
  if (range.is_empty()) return {};
  if (may_be_log && range.low > 0 && range.high / range.low > kLogRatio)
    return {range.low, range.high, true};
  if (range.low == range.high) {
    const double around = range.low == 0 ? 1 : std::abs(range.low) * 0.5;
    return {range.low - around, range.high + around, false};
  }
  return {range.low, range.high, false};
}

double x_place(const Scale& scale, double value) { return kLeft + scale.part(value) * kPlotWidth; }
double y_place(const Scale& scale, double value) {
  return kTop + (1 - scale.part(value)) * kPlotHeight;
}

std::vector<double> log_ticks(const Scale& scale) {
  const int first = static_cast<int>(std::ceil(std::log10(scale.low)));
  const int last = static_cast<int>(std::floor(std::log10(scale.high)));
  const int step = std::max(1, (last - first) / 5);
  std::vector<double> values;
  for (int power = first; power <= last; power += step) values.push_back(std::pow(10, power));
  return values;
}

std::string grid(const Scale& x, const Scale& y) {
  std::string svg;
  for (const double value : y.is_log ? log_ticks(y) : ticks(y.low, y.high, 5)) {
    const double place = y_place(y, value);
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.4g}</text>\n",
        kLeft, kWidth - kRight, place, kLeft - 6, place + 4, value);
  }
  for (const double value : ticks(x.low, x.high, 6))
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                       x_place(x, value), kHeight - 8, value);
  return svg;
}

std::string path(const Curve& curve, size_t number, const Scale& x, const Scale& y) {
  std::string data;
  bool is_open = false;
  for (const auto& [at, value] : curve.points) {
    if (!is_drawn(value)) {
      is_open = false;
      continue;
    }
    data += fmt::format("{}{:.1f} {:.1f}", is_open ? "L" : "M", x_place(x, at), y_place(y, value));
    // A point alone is a dot.
    if (!is_open) data += "h.01";
    is_open = true;
  }
  return fmt::format("<path class=\"line s{}\" d=\"{}\"/>\n", number % kNumColours, data);
}

// In a script element, where "<" could end it.
std::string json_in_html(const Json& json) {
  std::string text;
  for (const char c : json.dump(-1, ' ', true, Json::error_handler_t::replace))
    text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

std::string data_of(const Chart& chart, const Scale& x) {
  Json list = Json::array();
  for (const Curve& curve : chart.curves) {
    Json points = Json::array();
    for (const auto& [at, value] : curve.points)
      if (is_drawn(value)) points.push_back(Json::array({at, value}));
    list.push_back(Json{{"name", json_text(curve.name)}, {"points", std::move(points)}});
  }
  return json_in_html(Json{{"x", chart.x_title},
                           {"low", x.low},
                           {"high", x.high},
                           {"left", kLeft},
                           {"width", kPlotWidth},
                           {"series", std::move(list)}});
}

std::string key(size_t number) {
  return fmt::format(
      "<svg class=\"key\" viewBox=\"0 0 8 8\" aria-hidden=\"true\"><line class=\"s{}\" x2=\"8\" "
      "y1=\"4\" y2=\"4\" stroke-width=\"3\"/></svg>",
      number % kNumColours);
}

std::string caption(const Chart& chart) {
  std::string html = "<figcaption>" + html_text(chart.title);
  if (chart.curves.size() > 1)
    for (size_t i = 0; i < chart.curves.size(); ++i)
      html += fmt::format(" <small>{}{}</small>", key(i), html_text(chart.curves[i].name));
  return html + "</figcaption>\n";
}

std::string rect(const Piece& piece, const Scale& scale, double y, double height) {
  constexpr double kNarrowest = 1.5;
  const double begin = 1000 * scale.part(piece.begin);
  const double width = std::max(1000 * scale.part(piece.end) - begin, kNarrowest);
  return fmt::format(
      "<rect class=\"{}\" x=\"{:.2f}\" width=\"{:.2f}\" y=\"{}\" height=\"{}\">"
      "<title>{}</title></rect>\n",
      piece.style, begin, width, y, height, html_text(piece.title));
}

}  // namespace

std::vector<double> ticks(double low, double high, int count) {
  if (!(high > low) || !std::isfinite(high - low)) return {low};
  const double rough = (high - low) / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = power;
  for (const double factor : {1, 2, 5, 10})
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  std::vector<double> values;
  const double first = std::ceil(low / step - 1e-9);
  const double last = std::floor(high / step + 1e-9);
  for (double i = first; i <= last && values.size() <= static_cast<size_t>(count) + 1; ++i)
    values.push_back(i * step + 0.0);  // No -0.
  return values;
}

std::vector<std::pair<double, double>> thinned(const std::vector<std::pair<double, double>>& points,
                                               int width) {
  if (points.size() <= 4 * static_cast<size_t>(width)) return points;
  const double low = points.front().first;
  const double scale = width / (points.back().first - low);
  std::vector<std::pair<double, double>> kept;
  for (size_t begin = 0, end = 0; begin < points.size(); begin = end) {
    ++end;
    const auto pixel = [&](size_t i) { return std::floor((points[i].first - low) * scale); };
    while (end < points.size() && pixel(end) == pixel(begin)) ++end;
    size_t smallest = begin;
    size_t largest = begin;
    for (size_t i = begin; i < end; ++i) {
      if (points[i].second < points[smallest].second) smallest = i;
      if (points[i].second > points[largest].second) largest = i;
    }
    std::vector<size_t> places = {begin, smallest, largest, end - 1};
    std::ranges::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    for (const size_t i : places) kept.push_back(points[i]);
  }
  return kept;
}

std::string line_chart(Chart chart) {
  Range x_range;
  Range y_range;
  for (Curve& curve : chart.curves) {
    curve.points = thinned(curve.points, static_cast<int>(kPlotWidth));
    for (const auto& [at, value] : curve.points) {
      x_range.add(at);
      if (is_drawn(value)) y_range.add(value);
    }
  }
  const Scale x = scale_of(x_range, false);
  const Scale y = scale_of(y_range, true);
  std::string svg = grid(x, y);
  for (const double mark : chart.marks)
    if (mark >= x.low && mark <= x.high)
      svg += fmt::format(
          "<line class=\"mark\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>\n",
          x_place(x, mark), kTop, kTop + kPlotHeight);
  for (size_t i = 0; i < chart.curves.size(); ++i) svg += path(chart.curves[i], i, x, y);
  svg += fmt::format("<line class=\"cross\" y1=\"{}\" y2=\"{}\"/>\n", kTop, kTop + kPlotHeight);
  return fmt::format(
      "<figure class=\"chart\" tabindex=\"0\">\n{}<svg viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{} by {}\">\n{}</svg>\n<div class=\"value\" aria-live=\"polite\"></div>\n"
      "<script type=\"application/json\">{}</script>\n</figure>\n",
      caption(chart), kWidth, kHeight, html_text(chart.title), html_text(chart.x_title), svg,
      data_of(chart, x));
}

std::string bar(const std::vector<Piece>& pieces, const std::vector<Piece>& marks, double begin,
                double end, const std::string& title) {
  const Scale scale{begin, end > begin ? end : begin + 1, false};
  std::string svg;
  for (const Piece& piece : pieces) svg += rect(piece, scale, 0, 28);
  for (const Piece& mark : marks) svg += rect(mark, scale, 30, 6);
  return fmt::format(
      "<svg class=\"bar{}\" viewBox=\"0 0 1000 {}\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"{}\">\n{}</svg>\n",
      marks.empty() ? "" : " marked", marks.empty() ? 28 : 36, html_text(title), svg);
}

}  // namespace crochet::tool
