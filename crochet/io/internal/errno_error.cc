// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/errno_error.h"

#include <errno.h>
#include <string.h>

#include <fmt/format.h>

namespace crochet::inline v0::internal {

std::string errno_text(int error_number) {
  const char* const name = ::strerrorname_np(error_number);
  if (name == nullptr) return fmt::format("error {}", error_number);
  return fmt::format("{} ({})", ::strerrordesc_np(error_number), name);
}

Code code_of_errno(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case EFBIG:
      return Code::kResourceExhausted;
    case EEXIST:
    case ENOTEMPTY:
      return Code::kAlreadyExists;
    default:
      return Code::kUnknown;
  }
}

void throw_errno(int error_number, std::string_view path, std::string_view operation) {
  throw_error(code_of_errno(error_number),
              fmt::format("{}: {} failed: {}", path, operation, errno_text(error_number)));
}

void throw_no_room(int error_number, std::string_view path, uint64_t needed_bytes,
                   uint64_t free_bytes) {
  throw_error(code_of_errno(error_number),
              fmt::format("{}: {} bytes are needed, {} are free: {}", path, needed_bytes,
                          free_bytes, errno_text(error_number)));
}

void throw_short_file(std::string_view path, uint64_t offset, uint64_t length, uint64_t size) {
  throw DataLossError(fmt::format("{}: cannot read {} bytes at offset {}: the file has {} bytes",
                                  path, length, offset, size));
}

}  // namespace crochet::inline v0::internal
