// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

struct TornLine {
  // The text to write first, so that the next line starts on its own.
  std::string_view begin = {};
  // What was found and left as it is; empty if nothing was.
  std::string warning = {};
};

// Prepares a file of lines that is extended for the next line: what a killed process or a power cut
// has left of a line at its end is cut off, if one of our lines may begin like that. `begins` are
// the ways in which they begin. Throws: what the file system throws.
CROCHET_EXPORT TornLine cut_torn_line(FileSystem& files, const std::string& path,
                                      std::span<const std::string_view> begins);

}  // namespace crochet::inline v0::internal
