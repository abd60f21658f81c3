// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "crochet/io/file_system.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::internal {

// An estimate, rather too high, of the bytes that a checkpoint of this state takes: data, index,
// sidecar and state file. Waits for the snapshot's copies.
uint64_t bytes_of_checkpoint(const Snapshot& snapshot);

// Throws: ResourceExhaustedError, with the directory and the bytes needed and free, if the
// directory is known to lack room for `prefix`.
void throw_if_full(FileSystem& files, const std::string& prefix, uint64_t needed);

// "; the checkpoint needs 4096 bytes, but d has 100 free" if that may be why writing failed.
std::string text_if_full(FileSystem& files, const std::string& prefix, uint64_t needed);

}  // namespace crochet::inline v0::internal
