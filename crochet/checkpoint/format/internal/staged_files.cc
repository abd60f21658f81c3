// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/format/internal/staged_files.h"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/log.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {
namespace {

// True also if this cannot be determined.
bool may_exist(FileSystem& files, const std::string& path) noexcept {
  try {
    return files.exists(path);
  } catch (const std::exception& error) {
    log(Severity::kWarning, error.what());
    return true;
  }
}

// The target of a symbolic link; unset for anything else, and if it cannot be read.
std::optional<std::string> link_target(FileSystem& files, const std::string& path) noexcept {
  try {
    return files.read_symbolic_link(path);
  } catch (const std::exception& error) {
    log(Severity::kWarning, error.what());
    return std::nullopt;
  }
}

}  // namespace

StagedFiles::StagedFiles(FileSystem& files, std::string prefix)
    : files_(files), prefix_(std::move(prefix)), directory_(parent_directory(prefix_)) {}

StagedFiles::~StagedFiles() {
  if (owner_.is_here() && stage_ != kPublished && stage_ != kFailed) remove_unpublished();
}

void StagedFiles::check(Stage required, const char* call) const {
  owner_.check(prefix_);
  if (stage_ == kFailed)
    throw FailedPreconditionError(
        fmt::format("{}: {} after an error; a new writer is needed", prefix_, call));
  if (stage_ != required)
    throw FailedPreconditionError(
        fmt::format("{}: {} out of order: add, write_and_sync, publish", prefix_, call));
}

WritableFile& StagedFiles::create(const std::string& name, std::optional<uint64_t> expected_bytes) {
  if (!is_directory_made_ && !files_.exists(directory_)) files_.create_directories(directory_);
  is_directory_made_ = true;
  if (staged_.size() > 1) sync(staged_[staged_.size() - 2]);
  // Recorded before it is created: a failed creation may still leave a file.
  File& file =
      staged_.emplace_back(File{.path = temporary_filename(name), .name = name, .is_ours = true});
  file.open =
      expected_bytes ? files_.create_large(file.path, *expected_bytes) : files_.create(file.path);
  return *file.open;
}

void StagedFiles::link(const std::string& path, const std::string& name) {
  const File& file = staged_.emplace_back(File{.path = temporary_filename(name),
                                               .name = name,
                                               .is_ours = true,
                                               .is_synced = true,
                                               .is_link = true});
  files_.link(path, file.path);
}

void StagedFiles::adopt(const std::string& path, const std::string& name, bool is_synced) {
  staged_.push_back({.path = path, .name = name, .is_ours = true, .is_synced = is_synced});
}

void StagedFiles::rename_too(const std::string& path, const std::string& name) {
  staged_.push_back(
      {.path = path, .name = name, .is_ours = false, .is_synced = true, .may_have_its_name = true});
}

void StagedFiles::flush() {
  for (File& file : staged_)
    if (file.open) file.open->flush();
}

void StagedFiles::sync() {
  for (File& file : staged_) sync(file);
}

void StagedFiles::sync(File& file) {
  if (file.is_synced) return;
  if (!file.open) file.open = files_.append_to(file.path);
  file.open->sync();
  std::exchange(file.open, nullptr)->close();
  file.is_synced = true;
}

// Before anything is changed: a link is not replaced. What cannot be determined now is found by the
// renames.
void StagedFiles::check_replaceable() {
  for (const File& file : staged_)
    if (const auto target = link_target(files_, file.name))
      throw FailedPreconditionError(fmt::format(
          "{}: found a symbolic link to {}, expected a plain file or none: links are not "
          "replaced; put a file in its place, or remove it",
          file.name, *target));
}

void StagedFiles::publish() {
  const bool is_one_file = staged_.size() == 1;
  check_replaceable();
  if (!is_one_file) remove_old_index();
  is_being_published_ = true;
  for (File& file : staged_) {
    const bool is_index = &file == &staged_.back();
    if (is_index && !is_one_file) files_.sync_directory(directory_);
    if (file.may_have_its_name && !files_.exists(file.path)) continue;
    file.may_have_its_name = true;
    // A rename to another name of the same file would do nothing, and leave both.
    if (file.is_link && files_.exists(file.name)) files_.remove(file.name);
    files_.rename(file.path, file.name);
  }
  files_.sync_directory(directory_);
  stage_ = kPublished;
}

// A failed attempt may have removed it nevertheless, and a power cut may restore it until the
// directory is synced.
void StagedFiles::remove_old_index() {
  if (is_removal_synced_) return;
  if (files_.exists(staged_.back().name)) {
    is_index_removed_ = true;
    files_.remove(staged_.back().name);
  }
  if (is_index_removed_) files_.sync_directory(directory_);
  is_removal_synced_ = true;
}

// Also removes data files that have their final names: without the index they are useless.
void StagedFiles::remove_unpublished() noexcept {
  for (File& file : staged_) file.open.reset();
  const bool is_index_there = !is_being_published_ || may_exist(files_, staged_.back().name);
  for (const File& file : staged_) {
    if (!file.is_ours) continue;
    if (is_index_there || may_exist(files_, file.path))
      remove_left_over(files_, file.path);
    else
      remove_left_over(files_, file.name);
  }
}

}  // namespace crochet::inline v0::internal
