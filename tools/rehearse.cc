// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crochet rehearse: runs a program undisturbed, and killed and resumed, and compares the results.
#include <filesystem>

#include <fmt/format.h>

#include "crochet/checkpoint/directory/internal/chosen_checkpoint.h"
#include "crochet/checkpoint/directory/internal/found_checkpoint.h"
#include "crochet/io/file_system.h"
#include "tools/command.h"
#include "tools/name_filter.h"
#include "tools/rehearsed_program.h"
#include "tools/scratch_directory.h"
#include "tools/tensor_difference.h"
#include "tools/text.h"
#include "tools/written_files.h"

namespace crochet::tool {
namespace {

const CommandHelp kRehearseHelp = {
    .name = "rehearse",
    .description =
        "Run a program twice in an empty directory: to its end, and killed in the middle and\n"
        "resumed. Compare the last checkpoints, curves and files of both",
    .examples =
        "  crochet rehearse -- ./train --steps 200\n"
        "  crochet rehearse --link data -- ./train data/digits.csv",
};

struct RehearseOptions {
  std::vector<std::string> command = {};
  std::vector<std::string> links = {};
  NameFilter filter = {};
  std::optional<int64_t> kill_step = {};
  std::string scratch = {};
  bool keep = false;
};

int64_t newest_step(FileSystem& files, const std::string& directory) {
  const std::string prefix = internal::chosen_checkpoint(files, directory);
  return internal::look_at_checkpoint(files, prefix).step.value_or(0);
}

class Rehearsal {
 public:
  Rehearsal(const Context& context, const RehearseOptions& options)
      : context_(context), options_(options), scratch_(options.scratch) {
    if (options.keep) scratch_.keep();
    for (const std::string& folder : {undisturbed_, resumed_}) {
      FileSystem::posix().create_directories(folder);
      for (const std::string& link : options.links) make_link(link, folder);
    }
  }

  int run() {
    run_to_end(undisturbed_, "the undisturbed run");
    expected_ = written_files(undisturbed_);
    if (expected_.runs.empty())
      throw NotFoundError(
          fmt::format("{}: saved no checkpoint in the directory in which it was started: its "
                      "checkpoint.dir must be a relative path",
                      options_.command.front()));
    for (const std::string& run : expected_.runs)
      last_step_ = std::max(last_step_, newest_step(context_.files(), join(undisturbed_, run)));
    kill();
    run_to_end(resumed_, "the resumed run");
    compare_all();
    return report();
  }

 private:
  static std::string join(const std::string& folder, const std::string& path) {
    return path == "." ? folder : join_path(folder, path);
  }
  static void make_link(const std::string& target, const std::string& folder) {
    if (is_absolute(target) || !std::filesystem::exists(target))
      throw InvalidArgumentError(
          fmt::format("--link {}: expected a relative path to a file or directory", target));
    const std::filesystem::path link = join_path(folder, target);
    FileSystem::posix().create_directories(link.parent_path());
    std::filesystem::create_symlink(std::filesystem::canonical(target), link);
  }

  ProgramEnd start(const std::string& folder, std::optional<internal::Rehearsal> rehearsal) const {
    RehearsedProgram program = {.command = options_.command,
                                .directory = folder,
                                .log = scratch_ / "log",
                                .rehearsal = rehearsal};
    std::string& name = program.command.front();
    if (name.find('/') != std::string::npos) name = std::filesystem::absolute(name);
    return run_program(program);
  }

  void run_to_end(const std::string& folder, const char* what) {
    const ProgramEnd end = start(folder, {});
    if (end.exit_code == 0) return;
    scratch_.keep();
    throw FailedPreconditionError(fmt::format("{} ended with {}, expected exit code 0; see {}",
                                              what, to_string(end), scratch_ / "log"));
  }

  // Kills the second run halfway to the end of the first, a tenth of the way after its checkpoint.
  void kill() {
    if (last_step_ < 3)
      throw InvalidArgumentError(fmt::format("{}: ended after step {}: a rehearsal needs 3 steps",
                                             options_.command.front(), last_step_));
    kill_step_ = options_.kill_step.value_or(std::max<int64_t>(2, last_step_ / 2));
    if (kill_step_ < 2 || kill_step_ >= last_step_)
      throw InvalidArgumentError(
          fmt::format("--kill-at {}: expected a step from 2 to {}", kill_step_, last_step_ - 1));
    int64_t save_step = std::max<int64_t>(1, kill_step_ - std::max<int64_t>(1, last_step_ / 20));
    if (save_step % 2 == 0)
      --save_step;  // Some state, as of a distribution, is used up every second step.
    const ProgramEnd end =
        start(resumed_, internal::Rehearsal{.save_step = save_step, .kill_step = kill_step_});
    if (!end.is_killed()) {
      scratch_.keep();
      throw FailedPreconditionError(fmt::format(
          "the run that should have ended after step {} ended with {}: only a crochet::Loop "
          "and crochet::train can be rehearsed; see {}",
          kill_step_, to_string(end), scratch_ / "log"));
    }
    for (const std::string& run : written_files(resumed_).runs)
      resumed_step_ = std::max(resumed_step_, newest_step(context_.files(), join(resumed_, run)));
  }

  void compare_all() {
    const WrittenFiles found = written_files(resumed_);
    compare_sets(expected_.runs, found.runs, "run",
                 [&](const std::string& run) { compare_run(run); });
    compare_sets(expected_.curves, found.curves, "file",
                 [&](const std::string& file) { compare_curves(file); });
    compare_sets(expected_.files, found.files, "file",
                 [&](const std::string& file) { compare_files(file); });
  }

  template <typename Compare>
  void compare_sets(const std::set<std::string>& a, const std::set<std::string>& b,
                    const char* what, Compare compare) {
    for (const std::string& path : a)
      if (b.contains(path))
        compare(path);
      else
        differs(fmt::format("{} {}: only in the undisturbed run", what, printable(path)));
    for (const std::string& path : b)
      if (!a.contains(path))
        differs(fmt::format("{} {}: only in the resumed run", what, printable(path)));
  }

  void compare_run(const std::string& run) {
    const std::string a = join(undisturbed_, run), b = join(resumed_, run);
    const int64_t steps_a = newest_step(context_.files(), a),
                  steps_b = newest_step(context_.files(), b);
    if (steps_a != steps_b)
      return differs(fmt::format("run {}: ended at step {}, resumed at step {}", printable(run),
                                 steps_a, steps_b));
    Comparer comparer(context_, a, b, options_.filter, Tolerance());
    for (const std::string& name : comparer.names()) {
      ++num_values_;
      if (const auto difference = comparer.compare_tensor(name)) {
        std::string text = text_of(*difference);
        differs(text.substr(0, text.size() - 1));
      }
    }
    if (comparer.had_trouble()) throw DataLossError("a value could not be read");
  }

  void compare_curves(const std::string& file) {
    const auto a = read_curves(join(undisturbed_, file)), b = read_curves(join(resumed_, file));
    for (const auto& [point, value] : a) {
      const auto other = b.find(point);
      if (other == b.end()) continue;  // By time, curves have other steps.
      ++num_points_;
      if (other->second == value) continue;
      return differs(fmt::format("{}: {} at step {}: {} and {}", printable(file),
                                 printable(point.second), point.first, value, other->second));
    }
  }

  void compare_files(const std::string& file) {
    ++num_files_;
    if (!have_same_bytes(join(undisturbed_, file), join(resumed_, file)))
      differs(fmt::format("file {}: other bytes", printable(file)));
  }

  void differs(const std::string& text) { differences_.push_back(text); }

  int report() {
    const bool is_equal = differences_.empty();
    if (!is_equal) scratch_.keep();
    if (context_.json()) {
      Json differences = Json::array();
      for (const std::string& each : differences_) differences.push_back(json_text(each));
      context_.print_json(Json{{"equal", is_equal},
                               {"last_step", last_step_},
                               {"killed_after", kill_step_},
                               {"resumed_from", resumed_step_},
                               {"num_values", num_values_},
                               {"num_points", num_points_},
                               {"num_files", num_files_},
                               {"directory", is_equal ? Json() : Json(json_text(scratch_.path()))},
                               {"differences", std::move(differences)}});
      return is_equal ? kSuccess : kNegative;
    }
    const std::string how =
        fmt::format("killed after step {}, resumed from {}", kill_step_, resumed_step_);
    if (is_equal) {
      context_.print(fmt::format("{}: {}, {} of curves and {} are equal at step {}\n", how,
                                 count_text(num_values_, "value"), count_text(num_points_, "point"),
                                 count_text(num_files_, "file"), last_step_));
      return kSuccess;
    }
    context_.print(
        fmt::format("{}: DIFFERS from the undisturbed run at step {}:\n", how, last_step_));
    for (const std::string& each : differences_) context_.print(each + "\n");
    context_.print(
        fmt::format("Something that the next step depends on is not tracked; both runs are in {}\n",
                    scratch_.path()));
    return kNegative;
  }

  const Context& context_;
  const RehearseOptions& options_;
  ScratchDirectory scratch_;
  const std::string undisturbed_ = scratch_ / "undisturbed";
  const std::string resumed_ = scratch_ / "resumed";
  WrittenFiles expected_;
  int64_t last_step_ = 0;
  int64_t kill_step_ = 0;
  int64_t resumed_step_ = 0;
  uint64_t num_values_ = 0;
  uint64_t num_points_ = 0;
  uint64_t num_files_ = 0;
  std::vector<std::string> differences_;
};

int rehearse(const Context& context, const RehearseOptions& options) {
  return Rehearsal(context, options).run();
}

}  // namespace

void add_rehearse(CommandLine& line) {
  const auto [command, options] = add_command(line, kRehearseHelp, rehearse);
  command
      .add_option("command", options.command,
                  "The program and its arguments, after --; it is started in an empty directory")
      ->type_name("COMMAND")
      ->required();
  add_repeated_option(command, "--link", options.links, "PATH",
                      "Link a file or directory that the program reads into that directory");
  command.add_option("--kill-at", options.kill_step, "The step after which it is killed")
      ->type_name("STEP");
  command.add_option("--scratch", options.scratch, "Use this directory, which must be empty")
      ->type_name("DIR");
  command.add_flag("--keep", options.keep, "Keep the directory, also if nothing differs");
  add_filter_options(command, options.filter);
}

}  // namespace crochet::tool
