// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// Leaves the reason why the part `prefix` of a checkpoint is not written, for the rank that
// collects the parts. Never throws: that one stops waiting by itself.
CROCHET_EXPORT void report_failed_part(FileSystem& files, const std::string& prefix,
                                       const std::exception_ptr& error) noexcept;
// Throws that error, of `rank`.
[[noreturn]] CROCHET_EXPORT void throw_failed_part(FileSystem& files, const std::string& prefix,
                                                   int rank);

}  // namespace crochet::inline v0::internal
