// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "crochet/io/file_system.h"

namespace crochet::inline v0 {

// Maps a part of an open file, which may be closed afterwards; null if the system refuses.
// Requires: the file contains all of the part.
std::unique_ptr<MappedBytes> map_file(int file, uint64_t offset, uint64_t num_bytes);

}  // namespace crochet::inline v0
