// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/outputs/internal/kept_file.h"

#include <span>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/outputs/internal/file_copy.h"

namespace crochet::inline v0::internal {
KeptFile::KeptFile(FileSystem& files, std::string path, std::string temporary, std::string name)
    : files_(files),
      path_(std::move(path)),
      temporary_(std::move(temporary)),
      name_(std::move(name)),
      numbers_(new Description{}),
      description_(Tensor::over_buffer(
          DType::kInt64, Shape({2}),
          Buffer::borrow(
              std::as_bytes(std::span(*numbers_)),
              [](void* numbers) noexcept { delete static_cast<Description*>(numbers); },
              numbers_))) {
  is_missing_ = !files_.exists(path_);
  if (is_missing_) {
    put({}, std::as_writable_bytes(std::span(*numbers_)));
    is_done_ = true;
    return;
  }
  try {
    files_.clone(path_, temporary_);
    put({.num_bytes = files_.file_size(temporary_)}, std::as_writable_bytes(std::span(*numbers_)));
    is_done_ = true;
  } catch (const UnimplementedError&) {
  }
}

KeptFile::~KeptFile() {
  if (!is_missing_) remove_left_over(files_, temporary_);
}

void KeptFile::copy() {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  if (is_done_) return;
  try {
    const uint32_t crc = copy_file(files_, path_, temporary_);
    put({.num_bytes = files_.file_size(temporary_), .crc32c = crc},
        std::as_writable_bytes(std::span(*numbers_)));
    is_done_ = true;
  } catch (...) {
    error_ = std::current_exception();
    throw;
  }
}

// An attempt that fails later removes the checkpoint's name of the copy: the next one needs the
// other name.
void KeptFile::make_durable(const std::string& checkpoint) {
  copy();
  if (is_missing_) return;
  const std::string kept = attached_filename(checkpoint, name_);
  if (files_.exists(kept)) files_.remove(kept);  // Of a checkpoint that is replaced.
  files_.sync_file(temporary_);
  try {
    files_.link(temporary_, kept);
  } catch (const Error&) {  // In another file system, or one without links.
    static_cast<void>(clone_or_copy_file(files_, temporary_, kept));
  }
  files_.sync_directory(parent_directory(kept));
}

}  // namespace crochet::inline v0::internal
