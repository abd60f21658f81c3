// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet verify: checks that checkpoints are complete and as they were written.
#include <fmt/format.h>

#include "crochet/checkpoint/directory/chosen_checkpoint.h"
#include "crochet/checkpoint/layout/checkpoint_writer.h"
#include "tools/command.h"
#include "tools/inspection.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

const CommandHelp kVerifyHelp = {
    .name = "verify",
    .description = "Read checkpoints, compare all checksums and report damage",
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
  if (inspection.is_sound())
    return fmt::format("{}: sound{}\n", prefix,
                       inspection.has_checksums ? "" : ", as far as can be seen without checksums");
  std::string text;
  for (const std::string& line : inspection.damage)
    text += fmt::format("{}: damaged: {}\n", prefix, printable_text(line));
  return text;
}

Json as_json(const internal::FoundCheckpoint& checkpoint, const Inspection& inspection) {
  Json lines = Json::array();
  for (const std::string& line : inspection.damage) lines.push_back(json_text(line));
  return {{"prefix", json_text(checkpoint.prefix)},
          {"format", checkpoint_format_name(checkpoint.format)},
          {"sound", inspection.is_sound()},
          {"has_checksums", inspection.has_checksums},
          {"damage", std::move(lines)}};
}

int verify(const Context& context, const VerifyOptions& options) {
  bool all_sound = true;
  Json checkpoints = Json::array();
  for (const std::string& path : options.paths)
    for (const internal::FoundCheckpoint& each : checkpoints_of(context.files(), path)) {
      const Inspection found = inspect(context.files(), each, Depth::kEverything);
      if (found.is_gone) continue;
      all_sound = all_sound && found.is_sound();
      if (context.json())
        checkpoints.push_back(as_json(each, found));
      else if (!options.quiet)
        context.print(as_text(each, found));
    }
  if (context.json())
    context.print_json(Json{{"sound", all_sound}, {"checkpoints", std::move(checkpoints)}});
  return all_sound ? kSuccess : kNegative;
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
