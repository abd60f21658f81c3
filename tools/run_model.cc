// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/run_model.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/parse_json.h"
#include "crochet/checkpoint/directory/internal/found_checkpoint.h"
#include "crochet/io/internal/untrusted_file.h"
#include "crochet/journal/internal/read_journal.h"
#include "crochet/summary/internal/json_lines_writer.h"
#include "tools/run_lock.h"

namespace crochet::tool {
namespace {

constexpr uint64_t kTailBytes = uint64_t{256} << 10;
constexpr size_t kMaxEntries = 100'000;
constexpr int kMaxDepth = 16;

// The end of a file that grows by lines; its first line may be cut.
std::string tail_of(FileSystem& files, const std::string& path) {
  const auto file = internal::open_untrusted_file(files, path);
  const uint64_t size = file->size();
  const uint64_t begin = size - std::min(size, kTailBytes);
  std::string text(static_cast<size_t>(size - begin), '\0');
  file->read_at(begin, std::as_writable_bytes(std::span(text)));
  return text;
}

// A loss is what people look for first. what crochet measures itself is left out.
std::optional<int> rank_of(std::string_view name) {
  if (name == "step" || name == "time" || name.ends_with("/sec") || name.starts_with("checkpoint/"))
    return std::nullopt;
  if (name == "loss") return 0;
  return name.find("loss") != std::string_view::npos ? 1 : 2;
}

// Takes the point of a line, unless it has none, or one that is looked for less.
void take_point(std::string_view line, const std::string& path, RunModel& run) {
  internal::JsonTree tree;
  try {
    internal::parse_json(line, path, tree);
  } catch (const DataLossError&) {
    return;
  }
  if (!tree.root.is_object() || !tree.root.contains("step")) return;
  for (const auto& [name, value] : tree.root.items()) {
    const bool is_point =
        value.is_number() || value == "NaN" || value == "Infinity" || value == "-Infinity";
    const std::optional<int> rank = rank_of(name);
    if (!is_point || !rank) continue;
    const bool is_better = run.metric_name.empty() || *rank < *rank_of(run.metric_name);
    if (!is_better && name != run.metric_name) continue;
    run.metric_name = name;
    run.metric_value =
        value.is_string() ? value.get<std::string>() : fmt::format("{:.6g}", value.get<double>());
  }
}

void read_metric(FileSystem& files, RunModel& run) {
  const std::string path = join_path(run.directory, internal::kJsonLinesName);
  try {
    const std::string text = tail_of(files, path);
    std::string_view rest = text;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      take_point(rest.substr(0, end), path, run);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  } catch (const Error&) {  // A run without metrics, or whose metrics are not a plain file.
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
