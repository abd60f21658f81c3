// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <unistd.h>

#include <memory>

#include "crochet/io/file_system.h"

namespace crochet::inline v0 {

std::string join_path(std::string_view directory, std::string_view name) {
  if (directory.empty() || is_absolute(name)) return std::string(name);
  std::string path(directory);
  if (path.back() != '/') path += '/';
  return path.append(name);
}

std::string directory_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return "";
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

std::string or_current(std::string_view directory) {
  return std::string(directory.empty() ? "." : directory);
}

std::string parent_directory(std::string_view path) { return or_current(directory_of(path)); }

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));  // npos + 1 is 0.
}

bool is_absolute(std::string_view path) { return path.starts_with('/'); }

WorkingDirectory::WorkingDirectory() {
  const std::unique_ptr<char, decltype(&::free)> current(::getcwd(nullptr, 0), &::free);
  if (current) path_ = current.get();
}

std::string absolute_path(const std::string& path, const WorkingDirectory& start) {
  if (path.empty() || is_absolute(path)) return path;
  return join_path(start.path(), path);
}

}  // namespace crochet::inline v0
