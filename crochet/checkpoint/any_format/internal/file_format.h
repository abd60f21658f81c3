// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The format of a checkpoint that is a file of any name, such as one in a cache: by its content, or
// if that is of no format, by its suffix, so that its reader says what is wrong. Unset if there is
// no such file, and for a file of no format.
CROCHET_EXPORT std::optional<CheckpointFormat> format_of_file(FileSystem& files,
                                                              const std::string& path);

}  // namespace crochet::inline v0::internal
