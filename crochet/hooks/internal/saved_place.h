// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// Where the savers of a run save, attached to its graph from their begin() on, for hooks that come
// after them. For the training thread.
struct SavedPlace {
  std::string directory;
  std::string basename;
  FileSystem& files;  // Not owned; outlives the run.
  // Called once another checkpoint is published there.
  std::vector<std::function<void()>> on_published = {};
};

}  // namespace crochet::inline v0::internal
