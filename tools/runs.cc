// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/runs.h"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "crochet/io/internal/file_place.h"
#include "tools/number.h"
#include "tools/run_model.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

const CommandHelp kRunsHelp = {
    .name = "runs",
    .description = "List the runs below a directory: how far they are, and whether they are alive",
    .examples =
        "  crochet runs runs\n"
        "  crochet runs --json | jq -r '.runs[] | select(.state == \"failed\") | .directory'",
};

std::string step_text(const RunModel& run) {
  std::string text = std::to_string(run.last().last_step);
  if (run.last().of_steps) text += fmt::format("/{}", *run.last().of_steps);
  return text;
}

std::string saved_text(const RunModel& run, double now) {
  if (!run.saved_step) return "-";
  if (!run.saved_time) return fmt::format("step {}", *run.saved_step);
  return fmt::format("step {}, {} ago", *run.saved_step, duration_text(now - *run.saved_time));
}

std::string state_text(const RunModel& run, double now) {
  if (run.end.kind == EndKind::kRunning) return "running on " + printable(run.last().process.host);
  return fmt::format("{} {} ago: {}", end_kind_name(run.end.kind),
                     duration_text(now - run.last().last), printable_text(run.end.why));
}

std::string metric_text(const RunModel& run) {
  if (run.metric_name.empty()) return "-";
  return printable(run.metric_name) + " " + short_text(run.metric_value);
}

std::string as_text(const std::vector<RunModel>& runs, const std::string& directory, double now) {
  using enum Table::Align;
  Table table({{"RUN"}, {"STEP", kRight}, {"STEPS/S", kRight}, {"SAVED"}, {"METRIC"}, {"STATE"}});
  for (const RunModel& run : runs) {
    const std::string name = internal::name_within(directory, run.directory);
    const auto rate = run.steps_per_sec();
    table.add({name.empty() ? "." : printable(name), step_text(run),
               rate ? fmt::format("{:.3g}", *rate) : "-", saved_text(run, now), metric_text(run),
               state_text(run, now)});
  }
  return table.text();
}

Json as_json(const RunModel& run) {
  const Life& life = run.last();
  Json json{{"directory", json_text(run.directory)},
            {"state", end_kind_name(run.end.kind)},
            {"why", json_text(run.end.why)},
            {"lives", run.lives.size()},
            {"host", json_text(life.process.host)},
            {"pid", life.process.pid},
            {"start", run.lives.front().start},
            {"last", life.last},
            {"step", life.last_step}};
  if (life.of_steps) json["of_steps"] = *life.of_steps;
  if (const auto rate = run.steps_per_sec()) json["steps_per_sec"] = *rate;
  if (run.saved_step) json["saved_step"] = *run.saved_step;
  if (run.saved_time) json["saved_time"] = *run.saved_time;
  if (!run.metric_name.empty()) {
    json["metric"] = json_text(run.metric_name);
    json["value"] = to_json(run.metric_value);
  }
  if (life.exit_code) json["exit_code"] = *life.exit_code;
  return json;
}

struct RunsOptions {
  std::string directory = ".";
};

int runs(const Context& context, const RunsOptions& options) {
  return list_runs(context, options.directory, ThisMachine());
}

}  // namespace

int list_runs(const Context& context, const std::string& directory, const Machine& machine) {
  std::vector<RunModel> found;
  int code = kSuccess;
  for (const std::string& each : find_runs(context.files(), directory)) {
    try {
      found.push_back(read_run(context.files(), each, machine));
    } catch (const Error& error) {
      context.complain(error.what());
      code = kNegative;
    }
  }
  if (context.json()) {
    Json list = Json::array();
    for (const RunModel& run : found) list.push_back(as_json(run));
    context.print_json(Json{{"runs", std::move(list)}});
  } else if (!found.empty()) {
    context.print(as_text(found, directory, context.clock().wall_time()));
  }
  if (found.empty() && code == kSuccess) {
    context.complain(directory + ": no run at or below this directory");
    return kNegative;
  }
  return code;
}

void add_runs(CommandLine& line) {
  const auto [command, options] = add_command(line, kRunsHelp, runs);
  command
      .add_option("directory", options.directory, "The folder of runs; by default the current one")
      ->type_name("DIR");
}

}  // namespace crochet::tool
