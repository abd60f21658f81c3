// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// Sizes claimed by files of a checkpoint are not trusted. The memory and time that a reader uses
// are bounded by the bytes really stored on disk, and a file that claims too much is damaged.

// Opens a file of a checkpoint.
// Throws: NotFoundError; FailedPreconditionError for what is not a plain file; DataLossError for a
// hollow file: one whose bytes
// stored on disk are less than a thousandth of its size beyond 1 GiB. (Up to there, and among other
// data, holes are the zeros of a sparse copy.)
std::unique_ptr<ReadableFile> open_untrusted_file(FileSystem& files, const std::string& path);

enum class OwnerOfFile { kAnyone, kThisUserOrRoot };

// The content of a file that is small unless it is damaged. One that another machine replaces while
// it is read, over NFS, is read again.
// Throws: as open_untrusted_file(); FailedPreconditionError for a file of another user, unless
// that may be; DataLossError for more than `max_bytes`, for a file of more than 1 MiB that is
// mostly holes, and as with_bounded_memory().
CROCHET_EXPORT std::string read_untrusted_file(FileSystem& files, const std::string& path,
                                               uint64_t max_bytes,
                                               OwnerOfFile owner = OwnerOfFile::kAnyone);

[[noreturn]] void throw_no_memory(const std::string& path);

// Calls `read`, which allocates memory for the size that a file claims.
// Throws: what `read` throws; DataLossError instead if there is not enough memory, so that
// an older checkpoint is tried.
template <typename Read>
auto with_bounded_memory(const std::string& path, Read&& read) {
  try {
    return std::forward<Read>(read)();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  throw_no_memory(path);
}

}  // namespace crochet::inline v0::internal
