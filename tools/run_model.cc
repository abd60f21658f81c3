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
std::optional<int> rank_of(const std::string& name) {
  if (is_of_crochet(name)) return std::nullopt;
  if (name == "loss") return 0;
  return name.find("loss") != std::string_view::npos ? 1 : 2;
}

// Of files that are not plain, or not ours: nothing.
std::map<int64_t, Metrics> points_in(FileSystem& files, const std::string& directory) {
  try {
    return internal::read_metric_lines(files, directory);
  } catch (const Error&) {
    return {};
  }
}

// `crochet list` names what is wrong with them.
std::vector<internal::FoundCheckpoint> checkpoints_in(FileSystem& files,
                                                      const std::string& directory) {
  try {
    return internal::of_one_run(files, directory, internal::find_checkpoints(files, directory));
  } catch (const Error&) {
    return {};
  }
}

void add_metric(const std::map<int64_t, Metrics>& points, RunModel& run) {
  for (const auto& [step, metrics] : points)
    for (const auto& [name, value] : metrics) {
      const std::optional<int> rank = rank_of(name);
      if (!rank) continue;
      if (run.metric_name.empty() || *rank < *rank_of(run.metric_name)) run.metric_name = name;
      if (name == run.metric_name) run.metric_value = value;
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

bool is_of_crochet(const std::string& curve) {
  return curve.ends_with("/sec") || curve.starts_with("checkpoint/");
}

namespace {

// Without what only a whole history has.
RunHistory read_last_life(FileSystem& files, const std::string& directory, const Machine& machine) {
  RunHistory history{.journal = internal::read_journal(files, directory),
                     .points = points_in(files, directory),
                     .checkpoints = checkpoints_in(files, directory)};
  RunModel& run = history.run;
  run.directory = directory;
  run.lives = lives_of(history.journal);
  if (run.lives.empty())
    throw DataLossError(fmt::format("{}: its journal has no event", directory));
  run.end = end_of(run.last(), has_run(files, directory), machine);
  if (!history.checkpoints.empty()) {
    run.saved_step = history.checkpoints.back().step;
    run.saved_time = history.checkpoints.back().unix_time;
  }
  add_metric(history.points, run);
  return history;
}

}  // namespace

RunHistory read_history(FileSystem& files, const std::string& directory, const Machine& machine) {
  RunHistory history = read_last_life(files, directory, machine);
  for (const Life& life : history.run.lives)
    history.ends.push_back(&life == &history.run.last() ? history.run.end
                                                        : end_of(life, false, machine));
  history.goodput = goodput_of(history.journal);
  return history;
}

RunModel read_run(FileSystem& files, const std::string& directory, const Machine& machine) {
  return read_last_life(files, directory, machine).run;
}

const internal::JournalEntry* last_start(const RunHistory& history) {
  const auto& entries = history.journal.entries;
  const auto start = std::find_if(entries.rbegin(), entries.rend(),
                                  [](const auto& entry) { return entry.event == "start"; });
  return start == entries.rend() ? nullptr : &*start;
}

std::map<std::string, std::string> start_fields(const internal::JournalEntry& start,
                                                std::string_view beginning) {
  std::map<std::string, std::string> fields;
  for (const auto& [key, text] : start.texts)
    if (key.starts_with(beginning)) fields[key.substr(beginning.size())] = text;
  for (const auto& [key, number] : start.numbers)
    if (key.starts_with(beginning))
      fields[key.substr(beginning.size())] = fmt::format("{}", number);
  return fields;
}

std::vector<Curve> curves_of(const RunHistory& history) {
  std::map<std::string, Curve> by_name;
  for (const auto& [step, metrics] : history.points)
    for (const auto& [name, value] : metrics)
      by_name[name].points.emplace_back(static_cast<double>(step), value);
  std::vector<Curve> curves;
  for (auto& [name, curve] : by_name) curves.push_back({name, std::move(curve.points)});
  std::ranges::stable_sort(curves, {}, [&](const Curve& curve) {
    return curve.name == history.run.metric_name ? 0 : is_of_crochet(curve.name) ? 2 : 1;
  });
  return curves;
}

std::vector<std::string> find_runs(FileSystem& files, const std::string& directory) {
  if (!is_directory(files, directory))
    throw NotFoundError(fmt::format("{}: no such directory", directory));
  Search search(files);
  search.below(directory, 0);
  return search.take();
}

}  // namespace crochet::tool
