// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "crochet/io/file_system.h"

namespace crochet::tool {

// An empty directory for what a command tries out: removed with its content when this is destroyed,
// unless it is to be kept.
class ScratchDirectory {
 public:
  // Empty path: a new one in the directory for temporary files. Throws: AlreadyExistsError if
  // `path` has content; the system's errors.
  explicit ScratchDirectory(const std::string& path);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  std::string operator/(std::string_view name) const { return join_path(path_, name); }
  // Absolute.
  const std::string& path() const { return path_; }
  void keep() { is_kept_ = true; }

 private:
  std::string path_;
  bool is_kept_ = false;
};

}  // namespace crochet::tool
