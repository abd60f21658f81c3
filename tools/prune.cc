// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet prune: remove checkpoints that nobody needs.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/internal/checkpoint_list.h"
#include "crochet/checkpoint/directory/internal/found_checkpoint.h"
#include "crochet/checkpoint/directory/internal/own_files.h"
#include "crochet/io/internal/directory_lock.h"
#include "tools/command.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

const CommandHelp kPruneHelp = {
    .name = "prune",
    .description =
        "Remove checkpoints of a run that has ended, but for those that options keep, pinned ones\n"
        "and the newest. Shows what would be removed; --yes removes it",
    .examples =
        "  crochet prune --keep 3 runs/digits\n"
        "  crochet prune --keep 3 --keep-every-steps 10000 --yes runs/digits\n"
        "  crochet prune --set-aside --yes runs/digits   # files that were damaged or abandoned",
};

struct PruneOptions {
  std::string directory = {};
  std::optional<int> keep = {};
  std::optional<int64_t> keep_every_steps = {};
  std::vector<std::string> keep_lowest = {};
  std::vector<std::string> keep_highest = {};
  bool set_aside = false;
  bool yes = false;
  bool no_lock = false;
};

std::vector<RetentionPolicy> policies_of(const PruneOptions& options) {
  std::vector<RetentionPolicy> policies;
  if (options.keep) policies.push_back(keep_newest(*options.keep));
  if (options.keep_every_steps) policies.push_back(keep_every_steps(*options.keep_every_steps));
  for (const std::string& metric : options.keep_lowest)
    policies.push_back(keep_best({.metric = metric, .better = Better::kLower}));
  for (const std::string& metric : options.keep_highest)
    policies.push_back(keep_best({.metric = metric, .better = Better::kHigher}));
  return policies;
}

struct Removal {
  std::vector<std::string> checkpoints = {};  // Prefixes.
  std::vector<std::string> files = {};        // That were set aside.
  uint64_t num_bytes = 0;
};

uint64_t size_of(FileSystem& files, const std::vector<std::string>& paths) {
  uint64_t sum = 0;
  for (const std::string& path : paths)
    if (files.exists(path)) sum += files.file_size(path);
  return sum;
}

// Without what another checkpoint has, too.
uint64_t bytes_of(FileSystem& files, const internal::FoundCheckpoint& checkpoint) {
  const uint64_t shared = checkpoint.sidecar ? checkpoint.sidecar->shared_bytes : 0;
  return size_of(files, internal::paths_of_checkpoint(files, checkpoint.prefix)) - shared;
}

std::vector<std::string> set_aside_files(FileSystem& files, const std::string& directory) {
  std::vector<std::string> found;
  for (const std::string& name : files.list(directory))
    if (internal::own_file(name) == internal::OwnFile::kSetAside)
      found.push_back(join_path(directory, name));
  return found;
}

// What the options do not keep. `list` becomes that of the directory.
Removal find_removal(FileSystem& files, const PruneOptions& options,
                     internal::CheckpointList& list) {
  Removal removal;
  const auto directory = internal::CheckpointDirectory::find(files, options.directory);
  const auto found = internal::of_one_run(files, options.directory,
                                          internal::find_checkpoints(files, options.directory));
  if (!found.empty() && !policies_of(options).empty()) {
    list.follow(options.directory);
    if (!list.learn(*directory, found.back().basename))
      throw UnavailableError(
          fmt::format("{}: its checkpoints cannot be read now", options.directory));
    removal.checkpoints = list.sweep(files);
  }
  for (const internal::FoundCheckpoint& each : found)
    if (std::ranges::find(removal.checkpoints, each.prefix) != removal.checkpoints.end())
      removal.num_bytes += bytes_of(files, each);
  if (options.set_aside) removal.files = set_aside_files(files, options.directory);
  removal.num_bytes += size_of(files, removal.files);
  return removal;
}

void remove(FileSystem& files, const PruneOptions& options, internal::CheckpointList& list,
            Removal& removal) {
  auto directory = internal::CheckpointDirectory::to_save_in(files, options.directory);
  if (!removal.checkpoints.empty()) {
    const std::string newest = list.prefixes().back();
    list.write_state_without(directory.files(), removal.checkpoints, newest);
    list.remove_surplus(directory, removal.checkpoints);
  }
  std::erase_if(removal.checkpoints, [&](const std::string& prefix) {
    return internal::format_of(files, prefix).has_value();  // Kept, as the log says why.
  });
  for (const std::string& path : removal.files) files.remove(path);
}

void print(const Context& context, const PruneOptions& options, const Removal& removal) {
  if (context.json()) {
    Json checkpoints = Json::array();
    for (const std::string& prefix : removal.checkpoints) checkpoints.push_back(json_text(prefix));
    Json files = Json::array();
    for (const std::string& path : removal.files) files.push_back(json_text(path));
    return context.print_json(Json{{"directory", json_text(options.directory)},
                                   {"removed", options.yes},
                                   {"checkpoints", std::move(checkpoints)},
                                   {"files", std::move(files)},
                                   {"bytes", removal.num_bytes}});
  }
  const char* const verb = options.yes ? "removed" : "would remove";
  for (const std::string& prefix : removal.checkpoints)
    context.print(fmt::format("{} {}\n", verb, printable(prefix)));
  for (const std::string& path : removal.files)
    context.print(fmt::format("{} {}\n", verb, printable(path)));
  const uint64_t count = removal.checkpoints.size() + removal.files.size();
  if (count == 0)
    context.print(fmt::format("{}: nothing to remove\n", printable(options.directory)));
  else
    context.print(fmt::format("{} bytes{}\n", size_text(removal.num_bytes),
                              options.yes ? "" : "; --yes removes them"));
}

int prune(const Context& context, const PruneOptions& options) {
  FileSystem& files = context.files();
  if (!is_directory(files, options.directory))
    throw NotFoundError(fmt::format("{}: no such directory", options.directory));
  if (policies_of(options).empty() && !options.set_aside)
    throw InvalidArgumentError(
        "crochet prune needs to know what to keep: --keep, --keep-every-steps, --keep-lowest or "
        "--keep-highest, or else --set-aside");
  std::optional<internal::DirectoryLock> lock;
  if (options.yes)
    lock.emplace(files, options.directory,
                 options.no_lock ? internal::DirectoryLock::Kind::kNone
                                 : internal::DirectoryLock::Kind::kFile);
  internal::CheckpointList list(context.clock(), {.policies = policies_of(options)});
  Removal removal = find_removal(files, options, list);
  if (options.yes) remove(files, options, list, removal);
  print(context, options, removal);
  return kSuccess;
}

}  // namespace

void add_prune(CommandLine& line) {
  const auto [command, options] = add_command(line, kPruneHelp, prune);
  command.add_option("directory", options.directory, "The directory of the run's checkpoints")
      ->type_name("DIR")
      ->required();
  command.add_option("--keep", options.keep, "Keep the N newest")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 30));
  command
      .add_option("--keep-every-steps", options.keep_every_steps,
                  "Keep the first one at or after each multiple of N steps")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 53));
  command
      .add_option("--keep-lowest", options.keep_lowest,
                  "Keep the one with the lowest value of a metric; may be given several times")
      ->type_name("METRIC")
      ->allow_extra_args(false);
  command.add_option("--keep-highest", options.keep_highest, "The same for the highest")
      ->type_name("METRIC")
      ->allow_extra_args(false);
  command.add_flag(
      "--set-aside", options.set_aside,
      "Remove the files that were renamed, as they were damaged, abandoned or replaced");
  command.add_flag("--yes", options.yes, "Remove it");
  command.add_flag("--no-lock", options.no_lock, kNoLockHelp);
}

}  // namespace crochet::tool
