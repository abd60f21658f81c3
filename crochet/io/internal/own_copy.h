// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include "crochet/io/internal/file_place.h"

// Who may write a directory may replace its files, but not change them in place: the same file may
// have a name in a backup (`cp -al`), or belong to another member of the group.
namespace crochet::inline v0::internal {

// How much of a file its copy has.
enum class CopyOf { kContent, kNothing };

// Gives a name a file of its own: a durable copy, with the mode and group of the file that had the
// name, which is left as it is. Returns an errno, or 0.
int replace_by_own_copy(const FilePlace& place, CopyOf copy) noexcept;

// Gives a file with one name the mode and group of the file that it is to replace, as far as the
// user may do that.
void keep_mode_and_group(const FilePlace& place, const struct stat& replaced) noexcept;

}  // namespace crochet::inline v0::internal
