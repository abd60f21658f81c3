// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// A download may leave something else under the name of a checkpoint: a pointer of Git LFS, an HTML
// page, an archive. That is not damage, and the message says what the file is. So readers of
// formats without a magic number read their files by read_as(), and those of others call
// check_kind() if that number is missing.

// The first bytes of a file, enough to recognize formats.
std::string first_bytes(const ReadableFile& file);

// Throws: UnimplementedError if the file is known to be of another kind: what it is, what was
// expected, and how to get the right one. Returns if its kind is unknown, or it cannot be read.
CROCHET_EXPORT void check_kind(FileSystem& files, const std::string& path,
                               std::string_view expected);

// Calls `read`, which reads the file at `path`. `expected` is for messages: "a safetensors file".
// Throws: what `read` throws, but as check_kind() instead of DataLossError.
template <typename Read>
auto read_as(std::string_view expected, FileSystem& files, const std::string& path, Read&& read) {
  try {
    return std::forward<Read>(read)();
  } catch (const DataLossError&) {
    check_kind(files, path, expected);
    throw;
  }
}

}  // namespace crochet::inline v0::internal
