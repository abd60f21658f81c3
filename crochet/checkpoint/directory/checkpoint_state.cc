// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/checkpoint_state.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/internal/text_message.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/untrusted_file.h"

namespace crochet::inline v0 {
namespace {

// Far more than any real state, which has about 100 bytes per checkpoint: a larger one is not read
// into memory, where its fields take up to 30 times as much.
constexpr uint64_t kMaxStateBytes = uint64_t{16} << 20;

constexpr std::string_view kRemoving = "# removing: ";

// The paths in our comments about checkpoints being removed; similar comments are ignored.
std::vector<std::string> removing_in(std::string_view text) {
  std::vector<std::string> paths;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with(kRemoving)) continue;
    try {
      for (const internal::TextField& field : internal::parse_text_message(line.substr(2)))
        if (field.quoted) paths.push_back(field.value);
    } catch (const InvalidArgumentError&) {
    }
  }
  return paths;
}

std::string string_value(const internal::TextField& field) {
  if (!field.quoted)
    throw InvalidArgumentError(
        fmt::format("line {}: {} is {}, expected a string", field.line, field.name, field.value));
  return field.value;
}

double number_value(const internal::TextField& field) {
  std::string_view text = field.value;
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
  const bool whole = rest.empty() || rest == "f" || rest == "F";  // 1.5f is allowed.
  if (field.quoted || error != std::errc() || !whole)
    throw InvalidArgumentError(
        fmt::format("line {}: {} is {}, expected a number", field.line, field.name, field.value));
  return value;
}

// `path` relative to `directory`.
std::string relative_path(const std::string& path, const std::string& directory) {
  namespace fs = std::filesystem;
  const fs::path from = fs::absolute(or_current(directory)).lexically_normal() / "";
  return fs::absolute(path).lexically_normal().lexically_relative(from.parent_path()).string();
}

CheckpointState read_state(FileSystem& files, const std::string& path) {
  const std::string text = internal::read_untrusted_file(files, path, kMaxStateBytes);
  try {
    return internal::with_bounded_memory(path, [&] { return parse_checkpoint_state(text); });
  } catch (const InvalidArgumentError& error) {
    throw DataLossError(fmt::format("{}: {}", path, error.what()));
  }
}

void warn_unreadable(const std::string& path, const Error& error) {
  log_warning(error.what());
  log_warning(fmt::format("{} cannot be read; its checkpoints are unknown", path));
}

}  // namespace

std::string to_text(const CheckpointState& state) {
  std::string text =
      fmt::format("model_checkpoint_path: {}\n", internal::quote(state.model_checkpoint_path));
  for (const std::string& path : state.all_model_checkpoint_paths)
    text += fmt::format("all_model_checkpoint_paths: {}\n", internal::quote(path));
  for (const double time : state.all_model_checkpoint_timestamps)
    text += fmt::format("all_model_checkpoint_timestamps: {}\n", internal::to_text(time));
  if (state.last_preserved_timestamp)
    text += fmt::format("last_preserved_timestamp: {}\n",
                        internal::to_text(*state.last_preserved_timestamp));
  for (const std::string& path : state.removing_paths)
    text += fmt::format("{}{}\n", kRemoving, internal::quote(path));
  return text;
}

CheckpointState parse_checkpoint_state(std::string_view text) {
  CheckpointState state;
  bool has_newest = false;
  for (const internal::TextField& field : internal::parse_text_message(text)) {
    if (field.name == "model_checkpoint_path") {
      if (std::exchange(has_newest, true))
        throw InvalidArgumentError(
            fmt::format("line {}: found a second {}", field.line, field.name));
      state.model_checkpoint_path = string_value(field);
    } else if (field.name == "all_model_checkpoint_paths") {
      state.all_model_checkpoint_paths.push_back(string_value(field));
    } else if (field.name == "all_model_checkpoint_timestamps") {
      state.all_model_checkpoint_timestamps.push_back(number_value(field));
    } else if (field.name == "last_preserved_timestamp") {
      state.last_preserved_timestamp = number_value(field);
    }
  }
  state.removing_paths = removing_in(text);
  return state;
}

CheckpointState make_checkpoint_state(const std::string& directory,
                                      const std::string& model_checkpoint_path,
                                      std::vector<std::string> all_model_checkpoint_paths,
                                      const UpdateCheckpointStateOptions& options) {
  CheckpointState state{
      .model_checkpoint_path = model_checkpoint_path,
      .all_model_checkpoint_paths = std::move(all_model_checkpoint_paths),
      .all_model_checkpoint_timestamps = options.all_model_checkpoint_timestamps,
      .last_preserved_timestamp = options.last_preserved_timestamp,
      .removing_paths = options.removing_paths,
  };
  std::vector<std::string>& all = state.all_model_checkpoint_paths;
  if (all.empty() || all.back() != model_checkpoint_path) all.push_back(model_checkpoint_path);
  const size_t num_times = state.all_model_checkpoint_timestamps.size();
  if (num_times != 0 && num_times != all.size())
    throw InvalidArgumentError(
        fmt::format("{}: found {} timestamps, expected {}, one per checkpoint", directory,
                    num_times, all.size()));
  const auto rewrite = [&](std::string& path) {
    if (is_absolute(path) ? options.save_relative_paths : !is_absolute(directory))
      path = relative_path(path, directory);
  };
  rewrite(state.model_checkpoint_path);
  for (std::string& path : all) rewrite(path);
  for (std::string& path : state.removing_paths) rewrite(path);
  return state;
}

void update_checkpoint_state(FileSystem& files, const std::string& directory,
                             const std::string& model_checkpoint_path,
                             const std::vector<std::string>& all_model_checkpoint_paths,
                             const UpdateCheckpointStateOptions& options) {
  const std::string path = join_path(directory, options.latest_filename.str());
  const CheckpointState state =
      make_checkpoint_state(directory, model_checkpoint_path, all_model_checkpoint_paths, options);
  if (join_path(directory, state.model_checkpoint_path) == path)
    throw FailedPreconditionError(
        fmt::format("{} is the state file and cannot be a checkpoint", path));
  replace_file(files, path, to_text(state));
}

void check_replaceable_state(FileSystem& files, const std::string& directory,
                             const FileName& latest_filename) {
  const std::string path = join_path(directory, latest_filename.str());
  if (const auto target = files.read_symbolic_link(path))
    throw FailedPreconditionError(fmt::format(
        "{}: found a symbolic link to {}, expected a plain file or none: each save replaces this "
        "file, and links are not replaced; put a copy of the file in its place (cp "
        "--remove-destination), or remove the link: the run finds its checkpoints without it",
        path, *target));
}

std::optional<CheckpointState> load_checkpoint_state(FileSystem& files,
                                                     const std::string& directory,
                                                     const FileName& latest_filename) {
  const std::string path = join_path(directory, latest_filename.str());
  CheckpointState state;
  try {
    state = read_state(files, path);
  } catch (const NotFoundError&) {
    return std::nullopt;
  } catch (const DataLossError& error) {
    warn_unreadable(path, error);
    return std::nullopt;
  }
  if (state.model_checkpoint_path.empty())
    throw InvalidArgumentError(fmt::format("{} names no newest checkpoint", path));
  state.model_checkpoint_path = join_path(directory, state.model_checkpoint_path);
  for (auto* const paths : {&state.all_model_checkpoint_paths, &state.removing_paths})
    for (std::string& path : *paths) path = join_path(directory, path);
  return state;
}

std::optional<CheckpointState> get_checkpoint_state(FileSystem& files, const std::string& directory,
                                                    const FileName& latest_filename) {
  try {
    return load_checkpoint_state(files, directory, latest_filename);
  } catch (const InvalidArgumentError&) {
    throw;
  } catch (const Error& error) {
    warn_unreadable(join_path(directory, latest_filename.str()), error);
    return std::nullopt;
  }
}

std::optional<std::string> latest_checkpoint(FileSystem& files, const std::string& directory,
                                             const FileName& latest_filename) {
  const auto state = get_checkpoint_state(files, directory, latest_filename);
  if (!state) return std::nullopt;
  if (checkpoint_exists(files, state->model_checkpoint_path)) return state->model_checkpoint_path;
  log_error(fmt::format("{} names the checkpoint {}, which is missing",
                        join_path(directory, latest_filename.str()), state->model_checkpoint_path));
  return std::nullopt;
}

}  // namespace crochet::inline v0
