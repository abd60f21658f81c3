// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/checkpoint_directory.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/internal/untrusted_file.h"

namespace crochet::inline v0::internal {
namespace {

// The content of a sidecar; unset if there is none that can be read.
std::optional<std::string> content_of(FileSystem& files, const std::string& path) {
  try {
    return read_untrusted_file(files, path, kMaxSidecarBytes);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// True for a sidecar that a killed process has already copied.
bool is_copied(FileSystem& files, const std::string& path, const std::string& copy) {
  if (!path.ends_with(".json")) return false;
  const auto content = content_of(files, path);
  return content && content == content_of(files, copy);
}

// A suffix with which renaming replaces no file: it is free for all files still to be renamed.
// Files that a killed process has already renamed may have it.
std::string free_suffix(FileSystem& files, const std::vector<std::string>& paths,
                        const std::string& wanted) {
  std::string suffix = wanted;
  for (int i = 2;; ++i) {
    const auto taken = [&](const std::string& path) {
      return files.exists(path) && files.exists(path + suffix) &&
             !is_copied(files, path, path + suffix);
    };
    if (std::ranges::none_of(paths, taken)) return suffix;
    suffix = fmt::format("{}-{}", wanted, i);
  }
}

// "<the first line> (and 2 others)".
std::string first_of(const std::vector<std::string>& lines) {
  if (lines.size() == 1) return lines.front();
  const size_t num_others = lines.size() - 1;
  return fmt::format("{} (and {} other{})", lines.front(), num_others, num_others == 1 ? "" : "s");
}

}  // namespace

CheckpointDirectory::CheckpointDirectory(FileSystem& files, const std::string& path,
                                         std::optional<DirectoryLock> lock)
    : files_(files), directory_(lock ? lock->directory(files) : files.open_directory(path)) {
  if (lock) lock_ = std::make_shared<const DirectoryLock>(std::move(*lock));
}

std::optional<CheckpointDirectory> CheckpointDirectory::find(FileSystem& files,
                                                             const std::string& path) {
  try {
    auto lock = DirectoryLock::held_here(files, path);
    return CheckpointDirectory(files, path, std::move(lock));
  } catch (const NotFoundError&) {
    return std::nullopt;
  }
}

CheckpointDirectory CheckpointDirectory::to_save_in(FileSystem& files, const std::string& path) {
  auto lock = DirectoryLock::held_here(files, path);
  if (lock) lock->check();
  if (!lock && !files.exists(path)) files.create_directories(path);
  return CheckpointDirectory(files, path, std::move(lock));
}

bool CheckpointDirectory::is_locked() const {
  try {
    if (lock_) lock_->check();
    return lock_ != nullptr;
  } catch (const FailedPreconditionError&) {
    return false;
  }
}

std::optional<std::string> CheckpointDirectory::objection(const std::string& prefix) {
  const auto sidecar = load_sidecar(*directory_, prefix);
  if (!sidecar) return "it has no sidecar, so its writer is unknown";
  if (sidecar->pinned) return "it is pinned";
  if (sidecar->index_crc32c == 0 || sidecar->index_crc32c != index_crc32c_of(*directory_, prefix))
    return "its index is not the one published with its sidecar";
  return std::nullopt;
}

// A concurrent pin comes either before, and is respected, or after, and finds it removed.
std::optional<std::string> CheckpointDirectory::remove_or_keep(const std::string& prefix) {
  const auto lock = lock_sidecars(*directory_, path());
  const bool is_there = find_index(*directory_, prefix).has_value();  // Otherwise remove the rest.
  auto reason = is_there ? objection(prefix) : std::nullopt;
  if (!reason && has_links(prefix))
    log_info(fmt::format("{}: is removed, but not the files that its links lead to", prefix));
  if (!reason) remove_checkpoint(*directory_, prefix);
  return reason;
}

std::vector<std::string> CheckpointDirectory::remove(const std::vector<std::string>& prefixes) {
  std::vector<std::string> removed;
  if (prefixes.empty()) return removed;
  const auto lock = DirectoryLock::for_a_moment(files_, path(), directory_);
  if (!lock) {
    log_warning(
        fmt::format("{}: {} surplus checkpoints were not removed: another run holds the lock",
                    path(), prefixes.size()));
    return removed;
  }
  // Every save tries again, so a line for each checkpoint would make the log grow quadratically.
  std::vector<std::string> kept, failed;
  for (const std::string& prefix : prefixes) {
    try {
      if (const auto reason = remove_or_keep(prefix))
        kept.push_back(fmt::format("checkpoint {} was not removed: {}", prefix, *reason));
      else
        removed.push_back(prefix);
    } catch (const Error& error) {
      failed.push_back(
          fmt::format("surplus checkpoint {} cannot be removed: {}", prefix, error.what()));
    }
  }
  if (!kept.empty()) log_info(first_of(kept));
  if (!failed.empty()) log_warning(first_of(failed));
  return removed;
}

std::optional<std::string> CheckpointDirectory::set_aside(const std::string& prefix, Unused why) {
  const char* const state = why == Unused::kDamaged ? "damaged" : "abandoned";
  if (!is_locked()) {
    log_warning(
        fmt::format("checkpoint {} is {} and is left as it is: only the run that holds the "
                    "directory's lock may set it aside",
                    prefix, state));
    return std::nullopt;
  }
  const auto lock = lock_sidecars(*directory_, path());
  // Its own run abandons a sound one.
  const auto reason = why == Unused::kDamaged ? objection(prefix) : std::nullopt;
  if (reason) {
    log_warning(
        fmt::format("checkpoint {} is {} and is left as it is: {}", prefix, state, *reason));
    return std::nullopt;
  }
  std::string suffix = rename_all(prefix, fmt::format(".{}", state));
  log_warning(
      fmt::format("{}: the files of this {} checkpoint now end in {}", prefix, state, suffix));
  return suffix;
}

bool CheckpointDirectory::has_links(const std::string& prefix) noexcept {
  const auto is_link = [&](const std::string& path) {
    return directory_->read_symbolic_link(path).has_value();
  };
  try {
    return std::ranges::any_of(paths_of_checkpoint(*directory_, prefix), is_link);
  } catch (const std::exception& error) {  // A link is not replaced in any case.
    log(Severity::kWarning, error.what());
    return false;
  }
}

void CheckpointDirectory::keep(const std::string& prefix, std::string_view why) {
  if (!find_index(*directory_, prefix)) return;
  const auto lock = DirectoryLock::for_a_moment(files_, path(), directory_);
  if (!lock)
    throw FailedPreconditionError(fmt::format(
        "{}: not replaced: {} and another run holds the lock of its directory", prefix, why));
  const auto no_changes = lock_sidecars(*directory_, path());
  const std::string suffix = rename_all(prefix, ".replaced");
  log_warning(
      fmt::format("{}: a checkpoint of this name is written, but {}: its files now end in {}",
                  prefix, why, suffix));
}

std::string CheckpointDirectory::rename_all(const std::string& prefix, const std::string& wanted) {
  const std::vector<std::string> paths = paths_of_checkpoint(*directory_, prefix);
  std::string suffix = free_suffix(*directory_, paths, wanted);
  const std::string sidecar = sidecar_filename(prefix);
  const auto content = content_of(*directory_, sidecar);
  // A copy first: a killed process must not leave a sidecar without an index, which the next run
  // would remove, nor an index without a sidecar, whose writer would be unknown.
  if (content) replace_file(*directory_, sidecar + suffix, *content);
  for (const std::string& path : paths)
    if (directory_->exists(path) && !(content && path == sidecar))
      directory_->rename(path, path + suffix);
  directory_->sync_directory(path());
  if (content) directory_->remove(sidecar);
  return suffix;
}

}  // namespace crochet::inline v0::internal
