// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "crochet/io/file_system.h"
#include "crochet/io/internal/file_place.h"

namespace crochet::inline v0::internal {

// FileSystem::try_lock() for files of the operating system. The lock belongs to the open file, so a
// second holder in this process is also refused. A forked process does not hold the lock, which it
// would otherwise keep after the death of its parent.
std::unique_ptr<FileLock> try_posix_lock(const FilePlace& place);

}  // namespace crochet::inline v0::internal
