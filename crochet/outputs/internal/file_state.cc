// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/outputs/internal/file_state.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/outputs/internal/file_copy.h"
#include "crochet/outputs/internal/output_position.h"

namespace crochet::inline v0::internal {
namespace {

// What SQLite writes beside a database: a journal of other bytes would be applied to it.
constexpr std::array kCompanions = {"-journal", "-wal", "-shm"};

constexpr const char* kAdoptAdvice =
    "TrackedFileOptions::adopt continues with the file that is there";

}  // namespace

FileState::FileState(std::string path, TrackedFileOptions options)
    : RunOutput(std::move(path)),
      options_(std::move(options)),
      files_(FileSystem::or_posix(options_.files)) {}

std::string FileState::copy_in(const std::string& checkpoint) const {
  return attached_filename(checkpoint, name());
}

CapturedState FileState::capture() const {
  if (options_.flush) options_.flush();
  const std::string directory =
      run_directory().empty() ? parent_directory(path()) : run_directory();
  const std::string temporary =
      join_path(directory, temporary_filename(attached_filename("tracked", name())));
  const auto kept = std::make_shared<KeptFile>(files_, path(), temporary, name());
  // Of another save of this step.
  if (const auto earlier = copying_.lock()) earlier->copy();
  copying_ = kept;
  CapturedState state{
      .tensors = {{kFileCopy, kept->description()}, {kFilePath, Tensor::scalar(stored_path())}}};
  state.copies.push_back(kept);
  return state;
}

void FileState::begin_step() {
  if (const auto kept = copying_.lock()) kept->copy();
  copying_.reset();
}

std::vector<StatePart> FileState::parts_for(const StoredParts&) const {
  return {{.key = kFileCopy, .dtype = DType::kInt64, .shape = Shape({2})},
          {.key = kFilePath, .dtype = DType::kString}};
}

void FileState::restore_parts(const StoredParts&, PartValues& values) {
  if (!is_own_restore() || values.parts().find(kFileCopy) == nullptr) return;
  values.read_later(kFileCopy, [this, checkpoint = values.checkpoint()](PartValue& value) {
    restored_ = Restored{checkpoint, file_copy_of(value.read(), path())};
  });
}

void FileState::check(bool is_own) {
  is_removed_ = false;
  if (restored_) {
    try {
      check_copy(*restored_);
    } catch (const Error&) {
      if (!options_.adopt) throw;
      restored_.reset();
    }
    return;
  }
  if (!files_.exists(path()) || options_.adopt) return;
  if (!is_own)
    throw AlreadyExistsError(
        fmt::format("{}: found a file of {} bytes, expected none, as no checkpoint of the run has "
                    "recorded it: move it away; otherwise {}",
                    path(), files_.file_size(path()), kAdoptAdvice));
  is_removed_ = true;
}

void FileState::check_copy(const Restored& restored) const {
  if (!restored.copy.num_bytes) return;
  const std::string kept = copy_in(restored.checkpoint);
  if (!files_.exists(kept))
    throw NotFoundError(
        fmt::format("{}: found no file, expected the copy of {} that the "
                    "checkpoint has: put it back; otherwise {}",
                    kept, path(), kAdoptAdvice));
  const auto file = files_.open(kept);
  const uint64_t num_bytes = *restored.copy.num_bytes;
  if (file->size() != num_bytes)
    throw DataLossError(
        fmt::format("{}: found {} bytes, expected {}: restore an earlier "
                    "checkpoint; otherwise {}",
                    kept, file->size(), num_bytes, kAdoptAdvice));
  if (restored.copy.crc32c && extend_by_file(0, *file, 0, num_bytes) != restored.copy.crc32c)
    throw DataLossError(
        fmt::format("{}: found other bytes than were written (by their crc32c): "
                    "restore an earlier checkpoint; otherwise {}",
                    kept, kAdoptAdvice));
}

void FileState::start() {
  if (is_open_ && options_.close) options_.close();
  is_open_ = false;
  remove_old_copies();
  if (restored_) {
    put_back(*restored_);
  } else if (is_removed_) {
    remove_with_companions();
  }
  restored_.reset();
  if (options_.open) options_.open();
  is_open_ = true;
}

void FileState::put_back(const Restored& restored) const {
  if (!restored.copy.num_bytes) return remove_with_companions();
  const std::string temporary = temporary_filename(path());
  try {
    static_cast<void>(clone_or_copy_file(files_, copy_in(restored.checkpoint), temporary));
    remove_with_companions();
    files_.rename(temporary, path());
  } catch (...) {
    remove_left_over(files_, temporary);
    throw;
  }
  files_.sync_directory(parent_directory(path()));
}

void FileState::remove_with_companions() const {
  for (const char* const companion : kCompanions)
    if (files_.exists(path() + companion)) files_.remove(path() + companion);
  if (files_.exists(path())) files_.remove(path());
}

// Of saves that were killed.
void FileState::remove_old_copies() const {
  if (run_directory().empty()) return;
  const std::string begin = attached_filename("tracked", name()) + ".tempstate";
  for (const std::string& file : files_.list(run_directory()))
    if (file.starts_with(begin)) remove_left_over(files_, join_path(run_directory(), file));
}

}  // namespace crochet::inline v0::internal
