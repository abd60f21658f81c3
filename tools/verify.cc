// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet verify: checks that checkpoints are complete and as they were written.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "crochet/checkpoint/directory/internal/chosen_checkpoint.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "tools/command.h"
#include "tools/inspection.h"
#include "tools/outputs.h"
#include "tools/shared_data.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

const CommandHelp kVerifyHelp = {
    .name = "verify",
    .description =
        "Read checkpoints, compare all checksums, also of what the run has written, and "
        "report damage",
    .examples =
        "  crochet verify runs/digits/model.ckpt-2000\n"
        "  crochet verify runs/digits                   # all in the directory\n"
        "  crochet verify --quiet runs/digits && cp -r runs/digits /backup",
};

struct VerifyOptions {
  std::vector<std::string> paths = {};
  bool quiet = false;
};

std::vector<internal::FoundCheckpoint> checkpoints_of(FileSystem& files, const std::string& path) {
  const auto directory = internal::directory_of_checkpoints(files, path);
  if (!directory)
    return {internal::look_at_checkpoint(files, internal::chosen_checkpoint(files, path))};
  std::vector<internal::FoundCheckpoint> found = internal::find_checkpoints(files, *directory);
  if (found.empty()) throw NotFoundError(fmt::format("{}: no checkpoint in this directory", path));
  return found;
}

std::string as_text(const internal::FoundCheckpoint& checkpoint, const Inspection& inspection) {
  const std::string prefix = printable(checkpoint.prefix);
  std::string text;
  if (inspection.is_sound())
    text = fmt::format("{}: sound{}\n", prefix,
                       inspection.has_checksums ? "" : ", as far as can be seen without checksums");
  for (const Problem& each : inspection.problems)
    text +=
        fmt::format("{}: {}: {}\n", prefix, verdict_name(each.verdict), printable_text(each.text));
  for (const std::string& line : inspection.unread)
    text += fmt::format("{}: not read: {}\n", prefix, printable_text(line));
  return text;
}

Json as_json(const internal::FoundCheckpoint& checkpoint, const Inspection& inspection) {
  return {{"prefix", json_text(checkpoint.prefix)},
          {"format", checkpoint_format_name(checkpoint.format)},
          {"sound", inspection.is_sound()},
          {"has_checksums", inspection.has_checksums},
          {"problems", problems_json(inspection)},
          {"unread", json_lines(inspection.unread)}};
}

Json as_json(const OutputCheck::Found& wrong) {
  return {{"prefix", json_text(wrong.prefix)},
          {"verdict", verdict_name(wrong.problem.verdict)},
          {"problem", json_text(wrong.problem.text)}};
}

// The checkpoint is sound, but its run cannot continue with its outputs.
std::string to_line(const OutputCheck::Found& wrong) {
  return fmt::format("{}: output {}: {}\n", printable(wrong.prefix),
                     verdict_name(wrong.problem.verdict), printable_text(wrong.problem.text));
}

// Nothing if the checkpoint is gone by now.
std::vector<RecordedOutput> outputs_of(FileSystem& files,
                                       const internal::FoundCheckpoint& checkpoint) {
  try {
    return recorded_outputs(CheckpointReader(checkpoint.prefix, files));
  } catch (const NotFoundError&) {
    return {};
  }
}

Json as_json(const SharedData& data) {
  Json prefixes = Json::array();
  for (const std::string& prefix : data.checkpoints) prefixes.push_back(json_text(prefix));
  return {{"path", json_text(data.path)}, {"checkpoints", std::move(prefixes)}};
}

// Files that are shared are worth a line if one of their checkpoints is damaged, or too many have
// them.
bool is_to_tell(const SharedData& data, const std::set<std::string>& damaged) {
  return !is_within_horizon(data) ||
         std::ranges::any_of(data.checkpoints,
                             [&](const std::string& prefix) { return damaged.contains(prefix); });
}

int verify(const Context& context, const VerifyOptions& options) {
  int code = kSuccess;
  std::set<std::string> damaged;
  Json checkpoints = Json::array();
  Json shared_files = Json::array();
  Json wrong_outputs = Json::array();
  for (const std::string& path : options.paths) {
    const auto found = checkpoints_of(context.files(), path);
    OutputCheck outputs;
    for (const internal::FoundCheckpoint& each : found) {
      const Inspection inspection = inspect(context.files(), each, Depth::kEverything);
      if (inspection.is_gone) continue;
      code = exit_code(code, inspection);
      if (inspection.is_sound())
        outputs.add(each.prefix, outputs_of(context.files(), each));
      else
        damaged.insert(each.prefix);
      if (context.json())
        checkpoints.push_back(as_json(each, inspection));
      else if (!options.quiet)
        context.print(as_text(each, inspection));
    }
    for (const OutputCheck::Found& wrong : outputs.problems(context.files())) {
      code = exit_code(code, {.problems = {wrong.problem}});
      if (context.json())
        wrong_outputs.push_back(as_json(wrong));
      else if (!options.quiet)
        context.print(to_line(wrong));
    }
    for (const SharedData& data : find_shared_data(context.files(), found)) {
      if (context.json())
        shared_files.push_back(as_json(data));
      else if (!options.quiet && is_to_tell(data, damaged))
        context.print(to_line(data) + "\n");
    }
  }
  if (context.json())
    context.print_json(Json{{"sound", code == kSuccess},
                            {"checkpoints", std::move(checkpoints)},
                            {"shared_files", std::move(shared_files)},
                            {"wrong_outputs", std::move(wrong_outputs)}});
  return code;
}

}  // namespace

void add_verify(CommandLine& line) {
  const auto [command, options] = add_command(line, kVerifyHelp, verify);
  command
      .add_option("checkpoints", options.paths,
                  "Checkpoints: their prefixes, any of their files, or directories for all in them")
      ->type_name("PATH")
      ->required();
  command.add_flag("--quiet,-q", options.quiet, "Print nothing, only set the exit code");
}

}  // namespace crochet::tool
