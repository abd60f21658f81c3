// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/run_model.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/internal/found_checkpoint.h"
#include "crochet/journal/internal/read_journal.h"
#include "crochet/summary/internal/metric_lines.h"
#include "tools/run_lock.h"

namespace crochet::tool {
namespace {

constexpr size_t kMaxEntries = 100'000;
constexpr int kMaxDepth = 16;

// A loss is what people look for first. What crochet measures itself is left out.
std::optional<int> rank_of(std::string_view name) {
  if (name.ends_with("/sec") || name.starts_with("checkpoint/")) return std::nullopt;
  if (name == "loss") return 0;
  return name.find("loss") != std::string_view::npos ? 1 : 2;
}

void read_metric(FileSystem& files, RunModel& run) {
  try {
    for (const auto& [step, metrics] : internal::read_metric_lines(files, run.directory))
      for (const auto& [name, value] : metrics) {
        const std::optional<int> rank = rank_of(name);
        if (!rank) continue;
        if (run.metric_name.empty() || *rank < *rank_of(run.metric_name)) run.metric_name = name;
        if (name == run.metric_name) run.metric_value = value;
      }
  } catch (const Error&) {  // Not a plain file, or not one of ours.
  }
}

void read_checkpoint(FileSystem& files, RunModel& run) {
  try {
    const auto found = internal::of_one_run(files, run.directory,
                                            internal::find_checkpoints(files, run.directory));
    if (found.empty()) return;
    run.saved_step = found.back().step;
    run.saved_time = found.back().unix_time;
  } catch (const Error&) {  // `crochet list` names what is wrong with them.
  }
}

class Search {
 public:
  explicit Search(FileSystem& files) : files_(files) {}

  void below(const std::string& directory, int depth) {
    const std::vector<std::string> names = files_.list(directory);
    num_entries_ += names.size();
    if (num_entries_ > kMaxEntries)
      throw ResourceExhaustedError(fmt::format(
          "{}: found more than {} files, expected a folder of runs", directory, kMaxEntries));
    if (std::ranges::find(names, internal::kJournalName) != names.end())
      found_.push_back(directory);
    if (depth == kMaxDepth) return;
    for (const std::string& name : names) {
      const std::string path = join_path(directory, name);
      if (files_.read_symbolic_link(path) || !is_directory(files_, path)) continue;
      try {
        below(path, depth + 1);
      } catch (const NotFoundError&) {  // Removed meanwhile.
      } catch (const PermissionDeniedError&) {
      }
    }
  }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  FileSystem& files_;
  size_t num_entries_ = 0;
  std::vector<std::string> found_;
};

}  // namespace

std::optional<double> RunModel::steps_per_sec() const {
  const double secs = last().last - last().start;
  const int64_t steps = last().last_step - last().first_step;
  if (!(secs > 0) || steps <= 0) return std::nullopt;
  return static_cast<double>(steps) / secs;
}

RunModel read_run(FileSystem& files, const std::string& directory, const Machine& machine) {
  RunModel run{.directory = directory, .lives = lives_of(internal::read_journal(files, directory))};
  if (run.lives.empty())
    throw DataLossError(fmt::format("{}: its journal has no event", directory));
  run.end = end_of(run.last(), has_run(files, directory), machine);
  read_checkpoint(files, run);
  read_metric(files, run);
  return run;
}

std::vector<std::string> find_runs(FileSystem& files, const std::string& directory) {
  if (!is_directory(files, directory))
    throw NotFoundError(fmt::format("{}: no such directory", directory));
  Search search(files);
  search.below(directory, 0);
  return search.take();
}

}  // namespace crochet::tool
