// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/outputs/internal/run_output.h"

#include <filesystem>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"
#include "crochet/outputs/internal/outputs_hook.h"
#include "crochet/session/internal/rank_layout.h"

namespace crochet::inline v0::internal {

void RunOutput::track(std::shared_ptr<RunOutput> output, Tracker& tracker) {
  const std::string name = tracker.name();
  if (!tracker.is_direct())
    throw FailedPreconditionError(
        fmt::format("\"{}\" is an output in a container, an optional or a pointer, expected one by "
                    "itself or in a struct, as it cannot come and go with its owner",
                    name));
  if (!output->name_.empty())
    throw AlreadyExistsError(fmt::format("{} is tracked twice, as \"{}\" and \"{}\"", output->path_,
                                         output->name_, name));
  local::Graph& graph = tracker.graph();
  tracker.add_object("", output);
  output->name_ = name;
  output->purpose_ = RestorePurpose::of(graph);
  if (const auto ranks = RankLayout::find(graph))
    if (const auto found = ranks->rank_name(name)) output->set_rank(found->rank);
  add_output(graph, std::move(output));
}

std::string RunOutput::stored_path() const {
  if (run_directory_.empty()) return first_path();
  return std::filesystem::path(first_path()).lexically_relative(run_directory_).string();
}

std::string checked_output_path(const char* what, const std::string& path, FileSystem& files) {
  if (base_name(path).empty())
    throw InvalidArgumentError(
        fmt::format("{}: found the path \"{}\", expected that of a file", what, path));
  return files.fixed_path(path);
}

}  // namespace crochet::inline v0::internal
