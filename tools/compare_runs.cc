// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet compare: several runs beside each other, as a page or as text.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "tools/chart.h"
#include "tools/command.h"
#include "tools/html.h"
#include "tools/number.h"
#include "tools/run_model.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

const CommandHelp kCompareHelp = {
    .name = "compare",
    .description =
        "Compare runs: what they were started with that differs, how far they are, and their\n"
        "curves over each other; as a page for a browser, which needs no other file",
    .examples =
        "  crochet compare runs/a runs/b > compared.html\n"
        "  crochet compare --text runs/*",
};

struct CompareOptions {
  std::vector<std::string> directories = {};
  bool as_text = false;
};

using Row = std::pair<std::string, std::vector<std::string>>;  // A name, and a value for each run.

// What the last start of a run recorded: fields and their values.
std::map<std::string, std::string> start_of(const RunHistory& history) {
  const internal::JournalEntry* const start = last_start(history);
  if (start == nullptr) return {};
  std::map<std::string, std::string> fields = start_fields(*start);
  // Of every process.
  for (const char* const key : {"pid", "boot", "process_start", "oom_kills", "memory_group"})
    fields.erase(key);
  return fields;
}

std::vector<Row> differences(const std::vector<RunHistory>& runs) {
  std::vector<std::map<std::string, std::string>> starts;
  std::set<std::string> keys;
  for (const RunHistory& run : runs) {
    starts.push_back(start_of(run));
    for (const auto& [key, value] : starts.back()) keys.insert(key);
  }
  std::vector<Row> rows;
  for (const std::string& key : keys) {
    Row row{key, {}};
    for (const auto& fields : starts) {
      const auto found = fields.find(key);
      row.second.push_back(found == fields.end() ? "-" : found->second);
    }
    const auto& values = row.second;
    if (std::ranges::any_of(values,
                            [&](const std::string& each) { return each != values.front(); }))
      rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Row> results(const std::vector<RunHistory>& runs) {
  std::vector<Row> rows = {
      {"state", {}}, {"step", {}}, {"steps/s", {}}, {"goodput", {}}, {"lives", {}}};
  std::map<std::string, std::vector<std::string>> last;
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunModel& run = runs[i].run;
    const auto rate = run.steps_per_sec();
    rows[0].second.emplace_back(end_kind_name(run.end.kind));
    rows[1].second.push_back(fmt::format("{}", run.last().last_step));
    rows[2].second.push_back(rate ? fmt::format("{:.3g}", *rate) : "-");
    rows[3].second.push_back(fmt::format("{:.1f} %", 100 * runs[i].goodput.part()));
    rows[4].second.push_back(fmt::format("{}", run.lives.size()));
    for (const Curve& curve : curves_of(runs[i])) {
      auto& values = last[curve.name];
      values.resize(runs.size(), "-");
      values[i] = short_text(curve.points.back().second);
    }
  }
  for (auto& [name, values] : last) rows.emplace_back("last " + name, std::move(values));
  return rows;
}

std::vector<Chart> charts(const std::vector<RunHistory>& runs) {
  std::vector<Chart> charts;
  for (const RunHistory& run : runs)
    for (Curve& curve : curves_of(run)) {
      auto chart = std::ranges::find(charts, curve.name, &Chart::title);
      if (chart == charts.end()) {
        charts.push_back({.title = curve.name, .x_title = "step"});
        chart = charts.end() - 1;
      }
      curve.name = run.run.directory;
      chart->curves.push_back(std::move(curve));
    }
  return charts;
}

std::vector<std::string> titles(const std::vector<RunHistory>& runs) {
  std::vector<std::string> names = {""};
  for (const RunHistory& run : runs) names.push_back(run.run.directory);
  return names;
}

std::string section(const std::string& title, const std::vector<RunHistory>& runs,
                    const std::vector<Row>& rows) {
  if (rows.empty()) return fmt::format("<h2>{}</h2>\n<p class=\"soft\">nothing</p>\n", title);
  std::vector<std::string> heads;
  for (const std::string& name : titles(runs)) heads.push_back(html_text(name));
  std::vector<std::vector<std::string>> cells;
  for (const auto& [name, values] : rows) {
    cells.push_back({html_text(name)});
    for (const std::string& value : values) cells.back().push_back(html_text(value));
  }
  return fmt::format("<h2>{}</h2>\n", title) + html_table(heads, cells, heads.size());
}

std::string page(const std::vector<RunHistory>& runs) {
  std::string body = "<h1>Runs compared</h1>\n";
  body += section("Results", runs, results(runs));
  body += section("Started with", runs, differences(runs));
  body += "<h2>Curves</h2>\n<div class=\"charts\">\n";
  for (const Chart& chart : charts(runs)) body += line_chart(chart);
  return html_page("Runs compared", body + "</div>\n");
}

std::string text(const std::vector<RunHistory>& runs) {
  std::vector<Table::Column> columns;
  for (const std::string& name : titles(runs)) columns.push_back({printable(name)});
  Table table(std::move(columns));
  for (const auto& rows : {results(runs), differences(runs)})
    for (const auto& [name, values] : rows) {
      std::vector<std::string> cells = {printable(name)};
      for (const std::string& value : values) cells.push_back(printable_text(value));
      table.add(std::move(cells));
    }
  return table.text();
}

Json as_json(const std::vector<RunHistory>& runs) {
  const auto list = [&](const std::vector<Row>& rows) {
    Json json = Json::object();
    for (const auto& [name, values] : rows) {
      Json texts = Json::array();
      for (const std::string& value : values) texts.push_back(json_text(value));
      json[json_text(name)] = std::move(texts);
    }
    return json;
  };
  Json names = Json::array();
  for (const RunHistory& run : runs) names.push_back(json_text(run.run.directory));
  return {{"runs", std::move(names)},
          {"results", list(results(runs))},
          {"started_with", list(differences(runs))}};
}

int compare(const Context& context, const CompareOptions& options) {
  std::vector<RunHistory> runs;
  for (const std::string& directory : options.directories)
    runs.push_back(read_history(context.files(), directory, ThisMachine()));
  if (context.json())
    context.print_json(as_json(runs));
  else
    context.print(options.as_text ? text(runs) : page(runs));
  return kSuccess;
}

}  // namespace

void add_compare(CommandLine& line) {
  const auto [command, options] = add_command(line, kCompareHelp, compare);
  command.add_option("directories", options.directories, "The runs, two or more")
      ->type_name("DIR")
      ->required()
      ->expected(2, 1000);
  command.add_flag("--text", options.as_text, "Print a table as text instead of a page");
}

}  // namespace crochet::tool
