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
#include "crochet/io/file_system.h"

namespace crochet::internal {

// What files of a checkpoint claim is not trusted. Memory and time that a reader takes are bounded
// by what the disk really holds of a file, and a file that claims too much is damaged.

// Opens a file of a checkpoint.
// Throws: NotFoundError; DataLossError for a directory, and for a file of which the disk holds next
// to nothing: less than a thousandth of what it has beyond 1 GiB. (Up to there, and among other
// data, holes are the zeros of a sparse copy.)
std::unique_ptr<ReadableFile> open_untrusted_file(FileSystem& files, const std::string& path);

// The whole of a file that is small if it is what it should be.
// Throws: as open_untrusted_file(); DataLossError for more than `max_bytes`, for a file of more
// than 1 MiB that is mostly holes, and as with_bounded_memory().
std::string read_untrusted_file(FileSystem& files, const std::string& path, uint64_t max_bytes);

[[noreturn]] void throw_no_memory(const std::string& path);

// Calls `read`, which takes memory for what a file claims.
// Throws: what `read` throws; DataLossError instead if there is not as much memory, so that
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

}  // namespace crochet::internal
