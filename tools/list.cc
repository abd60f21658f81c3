// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet list: the checkpoints of a directory.
#include <algorithm>

#include <fmt/format.h>

#include "crochet/checkpoint/directory/internal/chosen_checkpoint.h"
#include "crochet/checkpoint/directory/internal/fast_place.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/io/file_system.h"
#include "tools/command.h"
#include "tools/inspection.h"
#include "tools/number.h"
#include "tools/outputs.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

const CommandHelp kListHelp = {
    .name = "list",
    .description =
        "List the checkpoints of a directory; * marks the newest, from which a run resumes",
    .examples =
        "  crochet list runs/digits\n"
        "  crochet list --verify runs/digits      # reads all of them\n"
        "  crochet list --json runs/digits | jq -r .newest",
};

struct ListOptions {
  std::string path = ".";
  bool newest_first = false;
  bool verify = false;
};

struct Row {
  internal::FoundCheckpoint checkpoint;
  Inspection inspection;
  bool is_newest;
};

std::string state_text(const Inspection& inspection, bool verified) {
  if (!inspection.is_sound()) return verdict_name(inspection.verdict());
  return verified && inspection.has_checksums ? "sound" : "ok";
}

bool is_pinned(const internal::FoundCheckpoint& checkpoint) {
  return checkpoint.sidecar && checkpoint.sidecar->pinned;
}

// The name by which commands accept the checkpoint.
std::string name_text(const Row& row) {
  const bool is_safetensors = row.checkpoint.format == CheckpointFormat::kSafetensors;
  return printable(base_name(row.checkpoint.prefix)) + (is_safetensors ? ".safetensors" : "") +
         (row.is_newest ? " *" : "") + (is_pinned(row.checkpoint) ? " (pinned)" : "");
}

std::string metrics_text(const internal::FoundCheckpoint& checkpoint) {
  std::string text;
  if (!checkpoint.sidecar) return "-";
  for (const auto& [name, value] : checkpoint.sidecar->metrics)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", printable(name), short_text(value));
  return text.empty() ? "-" : text;
}

// The bytes that were not written again, as another checkpoint had them.
uint64_t shared_bytes(const internal::FoundCheckpoint& checkpoint) {
  return checkpoint.sidecar ? checkpoint.sidecar->shared_bytes : 0;
}

std::string shared_text(const internal::FoundCheckpoint& checkpoint) {
  const uint64_t bytes = shared_bytes(checkpoint);
  return bytes == 0 ? "-" : size_text(bytes);
}

std::string as_text(const std::vector<Row>& rows, const ListOptions& options) {
  using enum Table::Align;
  const bool any_shared =
      std::ranges::any_of(rows, [](const Row& row) { return shared_bytes(row.checkpoint) > 0; });
  std::vector<Table::Column> columns = {{"step", kRight}, {"time"}, {"size", kRight}};
  if (any_shared) columns.push_back({"of it shared", kRight});
  columns.insert(columns.end(), {{"state"}, {"metrics"}, {"name"}});
  Table table(std::move(columns));
  for (const Row& row : rows) {
    const internal::FoundCheckpoint& found = row.checkpoint;
    std::vector<std::string> cells = {found.step ? fmt::format("{}", *found.step) : "-",
                                      time_text(found.unix_time), size_text(found.size_bytes)};
    if (any_shared) cells.push_back(shared_text(found));
    cells.insert(cells.end(),
                 {state_text(row.inspection, options.verify), metrics_text(found), name_text(row)});
    table.add(std::move(cells));
  }
  return table.text();
}

// What the run writes, as the newest checkpoint has recorded it.
std::string outputs_text(FileSystem& files, const std::vector<Row>& rows) {
  const auto newest = std::ranges::find(rows, true, &Row::is_newest);
  if (newest == rows.end() || !newest->inspection.is_sound()) return "";
  std::string text;
  for (const std::string& line :
       output_lines(recorded_outputs(CheckpointReader(newest->checkpoint.prefix, files))))
    text += fmt::format("output {}\n", line);
  return text;
}

Json as_json(const Row& row) {
  const internal::FoundCheckpoint& found = row.checkpoint;
  Json metrics = Json::object();
  if (found.sidecar)
    for (const auto& [name, value] : found.sidecar->metrics)
      metrics[json_text(name)] = to_json(value);
  return {{"prefix", json_text(found.prefix)},
          {"format", checkpoint_format_name(found.format)},
          {"step", found.step ? Json(*found.step) : Json()},
          {"unix_time", to_json(found.unix_time)},
          {"size_bytes", found.size_bytes},
          {"shared_bytes", shared_bytes(found)},
          {"newest", row.is_newest},
          {"pinned", is_pinned(found)},
          {"preserved", found.sidecar && found.sidecar->preserved},
          {"has_checksums", row.inspection.has_checksums},
          {"problems", problems_json(row.inspection)},
          {"unread", json_lines(row.inspection.unread)},
          {"metrics", std::move(metrics)}};
}

void print_rows(const Context& context, const std::string& directory,
                const std::optional<std::string>& newest,
                const std::optional<internal::FoundCheckpoint>& in_memory,
                const std::vector<Row>& rows, const ListOptions& options) {
  Json checkpoints = Json::array();
  for (const Row& row : rows) checkpoints.push_back(as_json(row));
  context.print_json(Json{{"directory", json_text(directory)},
                          {"newest", newest ? Json(json_text(*newest)) : Json()},
                          {"in_memory", in_memory ? Json(json_text(in_memory->prefix)) : Json()},
                          {"verified", options.verify},
                          {"checkpoints", std::move(checkpoints)}});
}

int list(const Context& context, const ListOptions& options) {
  const auto directory = internal::directory_of_checkpoints(context.files(), options.path);
  if (!directory && context.files().exists(options.path))
    throw InvalidArgumentError(
        fmt::format("{}: a file; a directory was expected. \"crochet show {}\" lists the values of "
                    "one checkpoint",
                    options.path, options.path));
  if (!directory) throw NotFoundError(fmt::format("{}: no such directory", options.path));
  const std::vector<internal::FoundCheckpoint> found =
      internal::find_checkpoints(context.files(), *directory);
  const auto of_run = internal::of_one_run(context.files(), *directory, found);
  const auto newest = of_run.empty() ? std::nullopt : std::optional(of_run.back().prefix);
  std::vector<Row> rows;
  int code = kSuccess;
  for (const internal::FoundCheckpoint& each : found) {
    const Depth depth = options.verify ? Depth::kEverything : Depth::kOutside;
    Inspection inspection = inspect(context.files(), each, depth);
    if (inspection.is_gone) continue;
    rows.push_back({each, std::move(inspection), newest == each.prefix});
    code = exit_code(code, rows.back().inspection);
    for (const Problem& problem : rows.back().inspection.problems) context.complain(problem.text);
    for (const std::string& line : rows.back().inspection.unread)
      context.complain(fmt::format("{}: not read: {}", each.prefix, line));
  }
  if (options.newest_first) std::ranges::reverse(rows);
  // From which a start on this machine would resume.
  const auto in_memory = internal::newer_in_fast_place(
      context.files(), *directory, of_run.empty() ? std::nullopt : of_run.back().step);
  if (context.json())
    print_rows(context, *directory, newest, in_memory, rows, options);
  else if (!rows.empty())
    context.print(as_text(rows, options) + outputs_text(context.files(), rows));
  if (in_memory && !context.json())
    context.print(fmt::format("in memory: {}, from which a run on this machine resumes\n",
                              printable(in_memory->prefix)));
  if (rows.empty()) context.complain(options.path + ": no checkpoint in this directory");
  return rows.empty() ? kNegative : code;
}

}  // namespace

void add_list(CommandLine& line) {
  const auto [command, options] = add_command(line, kListHelp, list);
  command.add_option("directory", options.path, "The directory; by default the current one")
      ->type_name("DIR");
  command.add_flag("--newest-first,-r", options.newest_first, "List the newest first");
  command.add_flag("--verify", options.verify, "Read every checkpoint completely");
}

}  // namespace crochet::tool
