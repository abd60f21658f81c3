// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "crochet/io/file_place.h"
#include "crochet/io/file_system.h"

namespace crochet {

// FileSystem::try_lock() for files of the operating system. The lock belongs to the open file: a
// second holder in this process is refused, too. A process that is forked does not hold it: it
// would keep it after its parent has died.
std::unique_ptr<FileLock> try_posix_lock(const FilePlace& place);

}  // namespace crochet
