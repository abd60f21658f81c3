// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "crochet/io/file_descriptor.h"

namespace crochet {

// Where a file is, in the terms of the operating system's ...at() calls.
struct FilePlace {
  // For messages: what the caller named.
  std::string path;
  // A single name in `directory`; without a directory, a path of any kind.
  std::string name;
  std::shared_ptr<const FileDescriptor> directory = {};

  // The first argument of openat() and its relatives.
  int at() const;
};

// Names below an open directory, one after the other: "a/b" of "runs/x/a/b" in "runs/x", "" for the
// directory itself.
// Throws: InvalidArgumentError for a path that is not in the directory or that has a ".." in it.
std::string name_within(std::string_view directory, std::string_view path);

}  // namespace crochet
