// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "crochet/io/file_system.h"
#include "crochet/session/snapshot.h"

namespace crochet::internal {

// About how many bytes a checkpoint of this state takes: data, index, sidecar and state file; more
// rather than less. Waits for the snapshot's copies.
uint64_t bytes_of_checkpoint(const Snapshot& snapshot);

// What a file system says of its free space. Nothing if it does not say: some network and user
// space file systems say 0, or refuse.
std::optional<uint64_t> known_free_bytes(FileSystem& files, const std::string& directory);

// Throws: ResourceExhaustedError, with bytes needed and free and the directory, if that
// directory is known to lack the room for `prefix`.
void throw_if_full(FileSystem& files, const std::string& prefix, uint64_t needed);

// "; the checkpoint needs 4096 bytes, d has 100 bytes free" if that may be why writing failed.
std::string note_if_full(FileSystem& files, const std::string& prefix, uint64_t needed);

}  // namespace crochet::internal
