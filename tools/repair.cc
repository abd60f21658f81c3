// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet repair: makes a directory one that a run can resume from.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "crochet/base/log.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/directory/internal/checkpoint_directory.h"
#include "crochet/checkpoint/directory/internal/checkpoint_history.h"
#include "crochet/checkpoint/directory/internal/chosen_checkpoint.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/directory_lock.h"
#include "tools/command.h"
#include "tools/inspection.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

const CommandHelp kRepairHelp = {
    .name = "repair",
    .description =
        "Rebuild a directory's state file from its sound checkpoints, and find files\n"
        "that killed saves left. Takes the directory's lock: no run may be using it",
    .examples =
        "  crochet repair --dry-run runs/digits     # exit code 1: there is something to do\n"
        "  crochet repair --clean --set-aside runs/digits",
};

constexpr const char* kStateFile = "checkpoint";

struct RepairOptions {
  std::string path = {};
  std::string basename = {};
  bool clean = false;
  bool set_aside = false;
  bool dry_run = false;
  bool no_lock = false;
};

// The contents of a directory, and what was done with them.
struct Outcome {
  struct Checkpoint {
    internal::FoundCheckpoint found;
    std::vector<Problem> problems;
    std::string suffix = {};  // Of its files, once they are set aside.
  };
  struct Leftover {
    std::string path;
    bool removed = false;
  };

  std::string directory;
  std::string basename;
  std::vector<Checkpoint> checkpoints = {};
  // The correct state; unset without a sound checkpoint.
  std::optional<CheckpointState> state = {};
  bool state_was_right = false;
  std::vector<Leftover> leftovers = {};
};

// The only basename of checkpoints with a step, or else the one that the state file names.
std::string only_basename(FileSystem& files, const std::string& directory,
                          const std::vector<internal::FoundCheckpoint>& found) {
  std::set<std::string> basenames;
  std::vector<internal::FoundCheckpoint> with_step;
  for (const internal::FoundCheckpoint& each : found)
    if (internal::step_of_prefix(each.prefix)) {
      with_step.push_back(each);
      basenames.insert(each.basename);
    }
  if (with_step.empty())
    throw NotFoundError(
        fmt::format("{}: no checkpoint <name>-<step> in this directory", directory));
  if (const auto of_run = internal::of_one_run(files, directory, with_step); !of_run.empty())
    return of_run.back().basename;
  throw InvalidArgumentError(
      fmt::format("{}: holds checkpoints of several names; choose by --basename: {}", directory,
                  fmt::join(basenames, ", ")));
}

std::optional<CheckpointState> state_now(FileSystem& files, const std::string& directory) {
  try {
    return get_checkpoint_state(files, directory, kStateFile);
  } catch (const Error& error) {
    log_warning(error.what());
    return std::nullopt;
  }
}

// The checkpoints that should be listed: the sound ones of those that a saver would adopt, and
// always the newest sound one. An older one that is not listed now is kept forever, and stays so.
CheckpointState right_state(FileSystem& files, const Outcome& outcome,
                            const std::optional<CheckpointState>& now) {
  std::map<std::string, double> sound;
  std::string newest;
  for (const auto& each : outcome.checkpoints)
    if (each.problems.empty()) {
      sound[each.found.prefix] = each.found.unix_time;
      newest = each.found.prefix;  // They are sorted by step.
    }
  std::vector<std::string> listed;
  const internal::FoundHistory history =
      internal::find_history(files, outcome.directory, outcome.basename, kStateFile);
  for (const CheckpointRecord& record : history.listed)
    if (sound.contains(record.prefix) && record.prefix != newest) listed.push_back(record.prefix);
  listed.push_back(newest);
  UpdateCheckpointStateOptions options{.latest_filename = kStateFile, .save_relative_paths = true};
  if (now) options.last_preserved_timestamp = now->last_preserved_timestamp;
  if (now && !now->all_model_checkpoint_timestamps.empty())
    for (const std::string& prefix : listed)
      options.all_model_checkpoint_timestamps.push_back(sound[prefix]);
  return make_checkpoint_state(outcome.directory, newest, listed, options);
}

// True if both name the same checkpoints of the directory. Times are ignored.
bool names_the_same(const CheckpointState& right, const std::optional<CheckpointState>& now,
                    const std::string& directory) {
  if (!now || now->model_checkpoint_path != join_path(directory, right.model_checkpoint_path))
    return false;
  std::vector<std::string> paths;
  for (const std::string& path : right.all_model_checkpoint_paths)
    paths.push_back(join_path(directory, path));
  return paths == now->all_model_checkpoint_paths;
}

// Throws: an error for a checkpoint that cannot be judged, since nothing may be changed then.
std::vector<Problem> problems_of(FileSystem& files, const internal::FoundCheckpoint& checkpoint) {
  const Inspection found = inspect(files, checkpoint, Depth::kEverything);
  for (const Problem& each : found.problems)
    if (!is_bad(each.verdict))
      throw FailedPreconditionError(
          fmt::format("{}: {}: {}; no file was changed: move it away, or name other checkpoints "
                      "with --basename",
                      checkpoint.prefix, verdict_name(each.verdict), each.text));
  return found.problems;
}

// `files` is the open directory, in which all but data on other disks is.
Outcome examine(FileSystem& all_files, FileSystem& files, const std::string& directory,
                const RepairOptions& options) {
  const std::vector<internal::FoundCheckpoint> found = internal::find_checkpoints(files, directory);
  Outcome outcome{.directory = directory, .basename = options.basename};
  if (outcome.basename.empty()) outcome.basename = only_basename(files, directory, found);
  bool any_sound = false;
  for (const internal::FoundCheckpoint& each : found) {
    if (each.basename != outcome.basename || !internal::step_of_prefix(each.prefix)) continue;
    outcome.checkpoints.push_back({each, problems_of(files, each)});
    any_sound = any_sound || outcome.checkpoints.back().problems.empty();
  }
  if (any_sound) {
    const auto now = state_now(files, directory);
    outcome.state = right_state(files, outcome, now);
    outcome.state_was_right = names_the_same(*outcome.state, now, directory);
  }
  for (const std::string& path : list_leftovers(all_files, directory, outcome.basename))
    outcome.leftovers.push_back({path});
  return outcome;
}

// Without a sound checkpoint only leftovers of killed saves are removed: the damaged checkpoints
// may be all that is left.
void carry_out(FileSystem& all_files, internal::CheckpointDirectory& directory,
               const RepairOptions& options, Outcome& outcome) {
  FileSystem& files = directory.files();
  if (outcome.state && !outcome.state_was_right)
    replace_file(files, join_path(outcome.directory, kStateFile), to_text(*outcome.state));
  if (outcome.state && options.set_aside)
    for (auto& each : outcome.checkpoints)
      if (!each.problems.empty()) each.suffix = directory.set_aside(each.found.prefix).value_or("");
  if (!options.clean) return;
  remove_leftovers(all_files, directory.path(), outcome.basename, kStateFile);
  for (auto& leftover : outcome.leftovers) leftover.removed = !all_files.exists(leftover.path);
}

// Something that this command can do, with one option or another.
bool has_work(const Outcome& outcome) {
  const auto is_damaged = [](const auto& each) { return !each.problems.empty(); };
  return !outcome.state_was_right || !outcome.leftovers.empty() ||
         std::ranges::any_of(outcome.checkpoints, is_damaged);
}

std::string state_text(const Outcome& outcome, const RepairOptions& options) {
  const std::string path = printable(join_path(outcome.directory, kStateFile));
  if (!outcome.state) return fmt::format("{}: not changed: no checkpoint is sound\n", path);
  const size_t num_older = outcome.state->all_model_checkpoint_paths.size() - 1;
  return fmt::format("{}: {} {}{}\n", path,
                     outcome.state_was_right ? "is right, and names"
                     : options.dry_run       ? "would name"
                                             : "now names",
                     printable(outcome.state->model_checkpoint_path),
                     num_older == 0 ? "" : fmt::format(" and {} older", num_older));
}

std::string as_text(const Outcome& outcome, const RepairOptions& options) {
  std::string text;
  for (const auto& each : outcome.checkpoints) {
    const std::string prefix = printable(each.found.prefix);
    if (each.problems.empty()) text += prefix + ": sound\n";
    for (const Problem& problem : each.problems)
      text += fmt::format("{}: {}: {}\n", prefix, verdict_name(problem.verdict),
                          printable_text(problem.text));
    if (!each.suffix.empty())
      text += fmt::format("{}: set aside: its files now end in {}\n", prefix, each.suffix);
  }
  for (const auto& leftover : outcome.leftovers)
    text += fmt::format("{}: left over{}\n", printable(leftover.path),
                        leftover.removed ? "; removed" : "");
  return text + state_text(outcome, options);
}

Json state_json(const Outcome& outcome, const RepairOptions& options) {
  Json state = {{"path", json_text(join_path(outcome.directory, kStateFile))},
                {"right", outcome.state_was_right},
                {"written", outcome.state && !outcome.state_was_right && !options.dry_run},
                {"newest", nullptr},
                {"all", Json::array()}};
  if (!outcome.state) return state;
  state["newest"] = json_text(outcome.state->model_checkpoint_path);
  for (const std::string& path : outcome.state->all_model_checkpoint_paths)
    state["all"].push_back(json_text(path));
  return state;
}

Json as_json(const Outcome& outcome, const RepairOptions& options) {
  Json checkpoints = Json::array(), leftovers = Json::array();
  for (const auto& each : outcome.checkpoints) {
    checkpoints.push_back({{"prefix", json_text(each.found.prefix)},
                           {"sound", each.problems.empty()},
                           {"problems", problems_json({.problems = each.problems})},
                           {"set_aside", !each.suffix.empty()}});
  }
  for (const auto& leftover : outcome.leftovers)
    leftovers.push_back({{"path", json_text(leftover.path)}, {"removed", leftover.removed}});
  return {{"directory", json_text(outcome.directory)},
          {"basename", json_text(outcome.basename)},
          {"dry_run", options.dry_run},
          {"checkpoints", std::move(checkpoints)},
          {"state", state_json(outcome, options)},
          {"leftovers", std::move(leftovers)}};
}

int repair(const Context& context, const RepairOptions& options) {
  FileSystem& files = context.files();
  const auto directory = internal::directory_of_checkpoints(files, options.path);
  if (!directory) throw NotFoundError(fmt::format("{}: no such directory", options.path));
  std::optional<internal::DirectoryLock> lock;
  if (!options.dry_run)
    lock.emplace(files, *directory,
                 options.no_lock ? internal::DirectoryLock::Kind::kNone
                                 : internal::DirectoryLock::Kind::kFile);
  auto opened = internal::CheckpointDirectory::find(files, *directory);
  if (!opened) throw NotFoundError(fmt::format("{}: no such directory", *directory));
  Outcome outcome = examine(files, opened->files(), *directory, options);
  const bool had_work = has_work(outcome);
  if (!options.dry_run) carry_out(files, *opened, options, outcome);
  if (context.json())
    context.print_json(as_json(outcome, options));
  else
    context.print(as_text(outcome, options));
  return !outcome.state || (options.dry_run && had_work) ? kNegative : kSuccess;
}

}  // namespace

void add_repair(CommandLine& line) {
  const auto [command, options] = add_command(line, kRepairHelp, repair);
  command.add_option("directory", options.path, "The directory of a run")
      ->type_name("DIR")
      ->required();
  command
      .add_option("--basename", options.basename,
                  "The checkpoints NAME-<step>; needed if there are others and no state file")
      ->type_name("NAME");
  command.add_flag("--clean", options.clean, "Remove files that killed saves left");
  command.add_flag("--set-aside", options.set_aside,
                   "Rename damaged checkpoints, if there is a sound one");
  command.add_flag("--dry-run,-n", options.dry_run, "Change nothing and take no lock");
  command.add_flag("--no-lock", options.no_lock, kNoLockHelp);
}

}  // namespace crochet::tool
