// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/chosen_checkpoint.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/listed.h"
#include "crochet/checkpoint/format/internal/file_kind.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {
namespace {

std::vector<std::string> names_of(const std::vector<FoundCheckpoint>& found) {
  std::vector<std::string> names;
  for (const FoundCheckpoint& each : found) names.push_back(base_name(each.prefix));
  return names;
}

std::string chosen_in(FileSystem& files, const std::string& directory,
                      const CheckpointChoice& which) {
  const std::vector<FoundCheckpoint> found = find_checkpoints(files, directory);
  if (found.empty())
    throw NotFoundError(fmt::format("{}: no checkpoint in this directory", directory));
  const std::vector<FoundCheckpoint> of_run = of_one_run(files, directory, found);
  if (of_run.empty())
    throw InvalidArgumentError(fmt::format("{}: found several checkpoints, name one: {}", directory,
                                           listed(names_of(found))));
  return chosen_of(of_run, directory, which).prefix;
}

// What is better for a metric, as the newest checkpoint that says it has it.
Better better_of(const std::vector<FoundCheckpoint>& found, const std::string& directory,
                 const std::string& metric) {
  for (auto each = found.rbegin(); each != found.rend(); ++each)
    if (each->sidecar)
      if (const auto known = each->sidecar->better.find(metric);
          known != each->sidecar->better.end())
        return known->second;
  throw InvalidArgumentError(
      fmt::format("{}: no keep_best says whether a higher or a lower \"{}\" is better: use "
                  "CheckpointChoice::best(\"{}\", Better::kHigher), or kLower",
                  directory, metric, metric));
}

// The metrics that the checkpoints have.
std::vector<std::string> known_metrics(const std::vector<FoundCheckpoint>& found) {
  std::set<std::string> names;
  for (const FoundCheckpoint& each : found)
    if (each.sidecar)
      for (const auto& [name, value] : each.sidecar->metrics) names.insert(name);
  return {names.begin(), names.end()};
}

const FoundCheckpoint& best_of(const std::vector<FoundCheckpoint>& found,
                               const std::string& directory, const CheckpointChoice& which) {
  if (const FoundCheckpoint* const best = find_best(found, directory, which)) return *best;
  const std::vector<std::string> known = known_metrics(found);
  throw NotFoundError(fmt::format("{}: none of its {} checkpoints has a metric \"{}\"; found {}",
                                  directory, found.size(), which.metric(),
                                  known.empty() ? "no metrics" : listed(known)));
}

// The checkpoints in the directory whose names begin like this one.
std::vector<std::string> similar_names(FileSystem& files, const std::string& path) {
  const std::string directory = directory_of(path);
  if (!directory.empty() && !is_directory(files, directory)) return {};
  std::vector<std::string> names = names_of(find_checkpoints(files, directory));
  std::erase_if(names, [&](const std::string& name) { return !name.starts_with(base_name(path)); });
  return names;
}

[[noreturn]] void throw_no_checkpoint(FileSystem& files, const std::string& path) {
  const std::vector<std::string> similar = similar_names(files, path);
  if (!similar.empty())
    throw NotFoundError(fmt::format("{}: no such checkpoint; found {}", path, listed(similar)));
  if (files.exists(path)) {
    check_kind(files, path, "a checkpoint");
    throw NotFoundError(fmt::format("{}: not a file of a checkpoint", path));
  }
  throw NotFoundError(fmt::format("{}: no such checkpoint, file or directory", path));
}

}  // namespace

const FoundCheckpoint* find_best(const std::vector<FoundCheckpoint>& found,
                                 const std::string& directory, const CheckpointChoice& which) {
  const std::string& metric = which.metric();
  const auto value_of = [&](const FoundCheckpoint& each) {
    if (!each.sidecar) return std::nan("");
    const auto value = each.sidecar->metrics.find(metric);
    return value == each.sidecar->metrics.end() ? std::nan("") : value->second;
  };
  const FoundCheckpoint* best = nullptr;
  std::optional<Better> better = which.better();
  for (const FoundCheckpoint& each : found) {
    const double value = value_of(each);
    if (std::isnan(value)) continue;
    if (!better) better = better_of(found, directory, metric);
    if (best == nullptr ||
        (better == Better::kLower ? value <= value_of(*best) : value >= value_of(*best)))
      best = &each;
  }
  return best;
}

const FoundCheckpoint& chosen_of(const std::vector<FoundCheckpoint>& found,
                                 const std::string& directory, const CheckpointChoice& which) {
  if (which.is_newest()) return found.back();
  if (!which.step()) return best_of(found, directory, which);
  for (const FoundCheckpoint& each : found)
    if (each.step == which.step()) return each;
  throw NotFoundError(fmt::format("{}: no checkpoint of step {}; found {}", directory,
                                  *which.step(), listed(names_of(found))));
}

std::optional<std::string> directory_of_checkpoints(FileSystem& files, const std::string& path) {
  if (!path.ends_with('/') && format_of(files, path)) return std::nullopt;  // A prefix.
  if (is_directory(files, path)) return path;
  if (base_name(path) == "checkpoint" && files.exists(path)) return directory_of(path);
  return std::nullopt;
}

std::string chosen_checkpoint(FileSystem& files, const std::string& path,
                              const CheckpointChoice& which) {
  if (const auto directory = directory_of_checkpoints(files, path))
    return chosen_in(files, *directory, which);
  if (!which.is_newest())
    throw InvalidArgumentError(
        fmt::format("{}: found a single checkpoint, where {} of a directory is requested", path,
                    to_string(which)));
  const std::string name = base_name(path);
  const auto file = parse_checkpoint_filename(name);
  const auto format = format_of(files, path);
  if (format && !file) return path;
  if (!file || file->base.empty() || !files.exists(path)) throw_no_checkpoint(files, path);
  const std::string prefix = join_path(directory_of(path), file->base);
  const auto format_of_prefix = format_of(files, prefix);
  // The path of a safetensors file means that file, even if a run would prefer a bundle of its
  // name.
  if (format && format != format_of_prefix) return path;
  if (!format_of_prefix)
    throw NotFoundError(
        fmt::format("{}: not a checkpoint: there is no {}", path, index_filename(prefix)));
  return prefix;
}

}  // namespace crochet::inline v0::internal
