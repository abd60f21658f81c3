// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0 {

// A new directory under $TMPDIR, or /tmp, which is removed with its content
// when this object is destroyed.
class CROCHET_EXPORT TempDirectory {
 public:
  // Throws: the errors of FileSystem.
  TempDirectory();
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::string& path() const { return path_; }
  // The path of an entry in it.
  std::string operator/(std::string_view name) const;

 private:
  std::string path_;
};

}  // namespace crochet::inline v0
