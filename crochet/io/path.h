// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace crochet {

// "a" and "b" give "a/b"; an absolute second part wins; an empty first part is dropped.
std::string join_path(std::string_view directory, std::string_view name);
// The part before the last '/': "" for "file", "/" for "/file".
std::string directory_of(std::string_view path);
// The same, but "." for "file".
std::string parent_directory(std::string_view path);
// A directory as the system expects it: "." for "".
std::string or_current(std::string_view directory);
// The part after the last '/'.
std::string base_name(std::string_view path);
bool is_absolute(std::string_view path);

}  // namespace crochet
