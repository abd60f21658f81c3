// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "crochet/base/error.h"
#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// The error code for a number of <errno.h>, as listed at FileSystem.
Code code_of_errno(int error_number);

// The system's text for it: "No space left on device (ENOSPC)".
std::string errno_text(int error_number);

// Throws the error for a failed call of the operating system:
//
//   runs/x/checkpoint: rename to runs/x/old failed: No space left on device (ENOSPC)
[[noreturn]] CROCHET_EXPORT void throw_errno(int error_number, std::string_view path,
                                             std::string_view operation);

// Throws the error for a file that does not get the room it needs:
//
//   runs/x/data: 1073741824 bytes are needed, 1048576 are free: No space left on device (ENOSPC)
[[noreturn]] CROCHET_EXPORT void throw_no_room(int error_number, std::string_view path,
                                               uint64_t needed_bytes, uint64_t free_bytes);

// Throws the DataLossError of a ReadableFile::read_at beyond the end of the file.
[[noreturn]] CROCHET_EXPORT void throw_short_file(std::string_view path, uint64_t offset,
                                                  uint64_t length, uint64_t size);

}  // namespace crochet::inline v0::internal
