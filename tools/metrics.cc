// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet metrics: the curves of a run as a table, for other programs.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/summary/internal/metric_lines.h"
#include "tools/command.h"
#include "tools/number.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

const CommandHelp kMetricsHelp = {
    .name = "metrics",
    .description =
        "Print the curves of a run as comma-separated values, a line for each step that has one",
    .examples =
        "  crochet metrics runs/digits > digits.csv\n"
        "  crochet metrics --name loss --name accuracy runs/digits\n"
        "  crochet metrics --json runs/digits | jq '.columns.loss[-1]'",
};

struct MetricsOptions {
  std::string directory = ".";
  std::vector<std::string> names = {};
};

using Points = std::map<int64_t, Metrics>;

std::vector<std::string> names_of(const Points& points) {
  std::set<std::string> names;
  for (const auto& [step, metrics] : points)
    for (const auto& [name, value] : metrics) names.insert(name);
  return {names.begin(), names.end()};
}

void check_names(const std::vector<std::string>& names, const std::vector<std::string>& found,
                 const std::string& directory) {
  for (const std::string& name : names)
    if (std::ranges::find(found, name) == found.end())
      throw NotFoundError(
          fmt::format("{}: no curve \"{}\"; it has {}", directory, name, fmt::join(found, ", ")));
}

// As RFC 4180 has it: a field with a comma, a quote or a space is in quotes.
std::string csv_field(const std::string& text) {
  const std::string field = printable(text);
  if (field.find_first_of("\", ") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string as_csv(const Points& points, const std::vector<std::string>& names) {
  std::string text = "step";
  for (const std::string& name : names) text += "," + csv_field(name);
  text += '\n';
  for (const auto& [step, metrics] : points) {
    std::string line = fmt::format("{}", step);
    bool is_empty = true;
    for (const std::string& name : names) {
      line += ',';
      const auto found = metrics.find(name);
      if (found == metrics.end()) continue;
      line += fmt::format("{}", found->second);  // All digits that it needs.
      is_empty = false;
    }
    if (!is_empty) text += line + '\n';
  }
  return text;
}

Json as_json(const Points& points, const std::vector<std::string>& names) {
  Json columns{{"step", Json::array()}};
  for (const std::string& name : names) columns[json_text(name)] = Json::array();
  for (const auto& [step, metrics] : points) {
    const auto has = [&metrics = metrics](const std::string& name) {
      return metrics.contains(name);
    };
    if (std::ranges::none_of(names, has)) continue;
    columns["step"].push_back(step);
    for (const std::string& name : names) {
      const auto found = metrics.find(name);
      columns[json_text(name)].push_back(found == metrics.end() ? Json() : to_json(found->second));
    }
  }
  return columns;
}

int metrics(const Context& context, const MetricsOptions& options) {
  if (!is_directory(context.files(), options.directory))
    throw NotFoundError(fmt::format("{}: no such directory", options.directory));
  const Points points = internal::read_metric_lines(context.files(), options.directory);
  const std::vector<std::string> found = names_of(points);
  if (found.empty()) {
    context.complain(options.directory + ": no curves: it has no metrics.jsonl with numbers");
    return kNegative;
  }
  check_names(options.names, found, options.directory);
  const std::vector<std::string>& names = options.names.empty() ? found : options.names;
  if (context.json())
    context.print_json(
        Json{{"directory", json_text(options.directory)}, {"columns", as_json(points, names)}});
  else
    context.print(as_csv(points, names));
  return kSuccess;
}

}  // namespace

void add_metrics(CommandLine& line) {
  const auto [command, options] = add_command(line, kMetricsHelp, metrics);
  command.add_option("directory", options.directory, "The run; by default the current directory")
      ->type_name("DIR");
  command.add_option("--name", options.names, "Only this curve; may be given several times")
      ->type_name("NAME")
      ->allow_extra_args(false);
}

}  // namespace crochet::tool
