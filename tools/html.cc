// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/html.h"

#include <fmt/format.h>

#include "tools/text.h"

namespace crochet::tool {
namespace {

// No request can leave the page.
constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<link rel="icon" href="data:,">
)";

// The colours of lines and bars can be told apart by readers who see fewer colours (Okabe, Ito:
// Color Universal Design), and on both backgrounds.
constexpr std::string_view kStyle = R"(<style>
:root {
  color-scheme: light dark;
  --back: #fff; --text: #1a1a1a; --soft: #666; --rule: #ddd; --panel: #f6f6f6;
  --good: #00815c; --warning: #b26a00; --bad: #c0392b;
  --s0: #0072b2; --s1: #d55e00; --s2: #009e73; --s3: #b0589a; --s4: #b07a00; --s5: #3a93cf;
  --s6: #7a7a00; --s7: #444; --s8: #bbb;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #161616; --text: #e8e8e8; --soft: #9a9a9a; --rule: #383838; --panel: #202020;
    --good: #3ec28f; --warning: #e6a23c; --bad: #f07060;
    --s0: #56b4e9; --s1: #f08040; --s2: #3ec28f; --s3: #e09ac8; --s4: #e6b422; --s5: #8fc8f0;
    --s6: #d0d060; --s7: #ccc; --s8: #555;
  }
}
body {
  background: var(--back); color: var(--text); margin: 0 auto; max-width: 72rem; padding: 1.5rem;
  font: 15px/1.5 system-ui, sans-serif;
}
h1 { font-size: 1.5rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p { margin: .25rem 0; }
.soft, figcaption small { color: var(--soft); }
.good { color: var(--good); } .warning { color: var(--warning); } .bad { color: var(--bad); }
.state { font-weight: 600; }
.facts { display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: 1rem 0; padding: 0; }
.facts div { min-width: 7rem; }
.facts dt { color: var(--soft); font-size: .85rem; }
.facts dd { margin: 0; font-size: 1.15rem; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--rule); padding: .2rem .9rem .2rem 0; text-align: left;
  vertical-align: top; }
th { color: var(--soft); font-weight: 500; }
th.number, td.number { text-align: right; white-space: nowrap; }
td { overflow-wrap: anywhere; }
.story td:nth-child(-n+2) { white-space: nowrap; color: var(--soft); }
code { font-size: .9em; overflow-wrap: anywhere; }
.charts { display: grid; gap: 1.25rem; grid-template-columns: repeat(auto-fill, minmax(24rem, 1fr)); }
summary { cursor: pointer; font-size: 1.1rem; font-weight: 600; margin: 2rem 0 .5rem; }
figure { break-inside: avoid; margin: 0; position: relative; }
figcaption { font-weight: 500; overflow-wrap: anywhere; }
figure:focus-visible { outline: 2px solid var(--s0); outline-offset: 2px; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
.grid { stroke: var(--rule); } .mark { stroke: var(--soft); stroke-dasharray: 3 3; }
.line { fill: none; stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.s0 { stroke: var(--s0); } .s1 { stroke: var(--s1); } .s2 { stroke: var(--s2); }
.s3 { stroke: var(--s3); } .s4 { stroke: var(--s4); } .s5 { stroke: var(--s5); }
.s6 { stroke: var(--s6); } .s7 { stroke: var(--s7); } .s8 { stroke: var(--s8); }
.cross { stroke: var(--text); stroke-width: 1; visibility: hidden; }
.bar { height: 1.75rem; } .bar.marked { height: 2.25rem; }
.bar rect { stroke: var(--back); stroke-width: .5; vector-effect: non-scaling-stroke; }
rect.good { fill: var(--good); } rect.warning { fill: var(--warning); } rect.bad { fill: var(--bad); }
rect.down { fill: var(--rule); }
.use0 { fill: var(--s2); } .use1 { fill: var(--s1); } .use2 { fill: var(--s4); }
.use3 { fill: var(--s3); } .use4 { fill: var(--s6); } .use5 { fill: var(--s5); }
.use6 { fill: var(--s0); } .use7 { fill: var(--s7); } .use8 { fill: var(--s8); }
.key { display: inline-block; width: .8em; height: .8em; margin-right: .4em; }
.key rect { width: 100%; height: 100%; }
.ends { display: flex; justify-content: space-between; color: var(--soft); font-size: .85rem; }
.value { min-height: 1.5em; color: var(--soft); font-size: .85rem; font-variant-numeric: tabular-nums; }
@media print {
  body { max-width: none; padding: 0; font-size: 11px; }
  * { print-color-adjust: exact; }
  .value { display: none; }
}
</style>
)";

// Shows the values of a chart at the pointer, or where the arrow keys lead.
constexpr std::string_view kScript = R"(<script>
"use strict";
for (const figure of document.querySelectorAll("figure.chart")) {
  const data = JSON.parse(figure.querySelector("script").textContent);
  const svg = figure.querySelector("svg");
  const cross = figure.querySelector(".cross");
  const value = figure.querySelector(".value");
  const xs = [...new Set(data.series.flatMap((s) => s.points.map((p) => p[0])))].sort((a, b) => a - b);
  let at = -1;
  const show = (index) => {
    at = Math.max(0, Math.min(xs.length - 1, index));
    const x = xs[at];
    const place = data.left + (x - data.low) / (data.high - data.low || 1) * data.width;
    cross.setAttribute("x1", place);
    cross.setAttribute("x2", place);
    cross.style.visibility = "visible";
    const texts = data.series.map((s) => {
      const point = s.points.find((p) => p[0] === x);
      return point ? (data.series.length > 1 ? s.name + " " : "") + point[1] : null;
    });
    value.textContent = data.x + " " + x + ": " + texts.filter((t) => t !== null).join(", ");
  };
  const nearest = (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width * 640 - data.left) / data.width *
        (data.high - data.low) + data.low;
    let best = 0;
    for (let i = 1; i < xs.length; ++i) if (Math.abs(xs[i] - x) < Math.abs(xs[best] - x)) best = i;
    return best;
  };
  if (xs.length === 0) continue;
  svg.addEventListener("pointermove", (event) => show(nearest(event)));
  figure.addEventListener("keydown", (event) => {
    const moves = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: xs.length - 1};
    if (!(event.key in moves)) return;
    event.preventDefault();
    show(moves[event.key]);
  });
}
</script>
)";

}  // namespace

std::string html_text(std::string_view text) {
  std::string html;
  for (const char c : printable_text(text)) switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  return html;
}

std::string html_table(const std::vector<std::string>& titles,
                       const std::vector<std::vector<std::string>>& rows, size_t first_number) {
  const auto add_row = [first_number](std::string& html, const std::vector<std::string>& cells,
                                      const char* tag) {
    html += "<tr>";
    for (size_t i = 0; i < cells.size(); ++i)
      html += fmt::format("<{0}{1}>{2}</{0}>", tag, i >= first_number ? " class=\"number\"" : "",
                          cells[i]);
    html += "</tr>\n";
  };
  std::string html = "<div class=\"scroll\"><table>\n<thead>";
  add_row(html, titles, "th");
  html += "</thead>\n<tbody>\n";
  for (const auto& row : rows) add_row(html, row, "td");
  return html + "</tbody>\n</table></div>\n";
}

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format("{}<title>{}</title>\n{}</head>\n<body>\n{}{}</body>\n</html>\n", kHead,
                     html_text(title), kStyle, body, kScript);
}

}  // namespace crochet::tool
