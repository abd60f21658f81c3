// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "crochet/io/file_system.h"

namespace crochet::tool {

// Whether a run has the directory of its checkpoints now. Unset if that is unknown, as in a
// directory whose runs take no lock.
std::optional<bool> has_run(FileSystem& files, const std::string& directory);

}  // namespace crochet::tool
