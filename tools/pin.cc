// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet pin, crochet unpin: protect checkpoints from being removed by runs, or no longer.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/internal/chosen_checkpoint.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/directory_lock.h"
#include "tools/command.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

const CommandHelp kPinHelp = {
    .name = "pin",
    .description = "Keep checkpoints from being removed by the runs that made them",
    .examples =
        "  crochet pin runs/digits/model.ckpt-2000\n"
        "  crochet pin runs/digits                      # the newest",
};
const CommandHelp kUnpinHelp = {
    .name = "unpin",
    .description = "Allow pinned checkpoints to be removed by runs again",
    .examples = "  crochet unpin runs/digits/model.ckpt-2000",
};

struct PinOptions {
  std::vector<std::string> paths = {};
  bool no_lock = false;
};

void set_one_pinned(FileSystem& files, const std::string& prefix, bool pinned, bool no_lock) {
  std::optional<internal::DirectoryLock> unlocked;
  if (no_lock) unlocked.emplace(files, directory_of(prefix), internal::DirectoryLock::Kind::kNone);
  set_pinned(files, prefix, pinned);
}

int set_all_pinned(const Context& context, const PinOptions& options, bool pinned) {
  std::vector<std::string> prefixes;  // All must exist before any is changed.
  for (const std::string& path : options.paths)
    prefixes.push_back(internal::chosen_checkpoint(context.files(), path));
  Json checkpoints = Json::array();
  for (const std::string& prefix : prefixes) {
    set_one_pinned(context.files(), prefix, pinned, options.no_lock);
    checkpoints.push_back({{"prefix", json_text(prefix)}, {"pinned", pinned}});
    if (!context.json())
      context.print(fmt::format("{}: {}\n", printable(prefix), pinned ? "pinned" : "not pinned"));
  }
  if (context.json()) context.print_json(Json{{"checkpoints", std::move(checkpoints)}});
  return kSuccess;
}

void add(CommandLine& line, const CommandHelp& help, bool pinned) {
  const auto options = std::make_shared<PinOptions>();
  CLI::App& command = add_command(line, help, [options, pinned](const Context& context) {
    return set_all_pinned(context, *options, pinned);
  });
  command.add_option("checkpoints", options->paths, kCheckpointHelp)->type_name("PATH")->required();
  command.add_flag("--no-lock", options->no_lock, kNoLockHelp);
}

}  // namespace

void add_pin(CommandLine& line) {
  add(line, kPinHelp, true);
  add(line, kUnpinHelp, false);
}

}  // namespace crochet::tool
