// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "crochet/base/internal/export.h"
#include "crochet/io/internal/file_descriptor.h"

namespace crochet::inline v0::internal {

// The location of a file, as arguments of the operating system's ...at() calls.
struct FilePlace {
  // For messages: the path given by the caller.
  std::string path;
  // A single name in `directory`; without a directory, a path of any kind.
  std::string name;
  std::shared_ptr<const FileDescriptor> directory = {};

  // The first argument of openat() and its relatives.
  int at() const;
};

// The part of a path below an open directory: "a/b" for "runs/x/a/b" in "runs/x", "" for the
// directory itself.
// Throws: InvalidArgumentError for a path that is not in the directory or contains "..".
CROCHET_EXPORT std::string name_within(std::string_view directory, std::string_view path);

}  // namespace crochet::inline v0::internal
