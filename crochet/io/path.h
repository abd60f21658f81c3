// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "crochet/base/export.h"

namespace crochet::inline v0 {

// "a" and "b" give "a/b"; an absolute second part wins; an empty first part is dropped.
CROCHET_EXPORT std::string join_path(std::string_view directory, std::string_view name);
// The part before the last '/': "" for "file", "/" for "/file".
CROCHET_EXPORT std::string directory_of(std::string_view path);
// The same, but "." for "file".
CROCHET_EXPORT std::string parent_directory(std::string_view path);
// A directory as the system expects it: "." for "".
CROCHET_EXPORT std::string or_current(std::string_view directory);
// The part after the last '/'.
CROCHET_EXPORT std::string base_name(std::string_view path);
CROCHET_EXPORT bool is_absolute(std::string_view path);

// The working directory of the process at one moment.
class CROCHET_EXPORT WorkingDirectory {
 public:
  // The present one; empty if it was removed.
  WorkingDirectory();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The path from "/" on of a path that is relative to a working directory; "" for "".
CROCHET_EXPORT std::string absolute_path(const std::string& path,
                                         const WorkingDirectory& start = {});

}  // namespace crochet::inline v0
