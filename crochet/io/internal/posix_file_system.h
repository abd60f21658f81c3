// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "crochet/io/file_system.h"
#include "crochet/io/internal/direct_writer.h"

namespace crochet::inline v0::internal {

// The operating system's files, with options for writing large ones:
//
//   const auto files = make_posix_file_system({.use_direct = false});  // Fill the page cache.
//   Saver saver({.files = files.get()});
//
// FileSystem::posix() is one with default options.
std::unique_ptr<FileSystem> make_posix_file_system(const DirectWriterOptions& options);

}  // namespace crochet::inline v0::internal
