// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/file_place.h"

#include <fcntl.h>

#include <algorithm>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

// Removes the next part of a path that is not "." and returns it without the slashes around it; ""
// at the end.
std::string_view take_name(std::string_view& path) {
  std::string_view part = ".";
  while (part == ".") {
    path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
    part = path.substr(0, path.find('/'));
    path.remove_prefix(part.size());
  }
  return part;
}

}  // namespace

int FilePlace::at() const { return directory ? directory->get() : AT_FDCWD; }

std::string name_within(std::string_view directory, std::string_view path) {
  std::string_view above = directory;
  std::string_view rest = path;
  bool is_within = directory.starts_with('/') == path.starts_with('/');
  for (std::string_view part = take_name(above); !part.empty() && is_within;
       part = take_name(above))
    is_within = take_name(rest) == part;
  std::string name;
  for (std::string_view part = take_name(rest); !part.empty() && is_within;
       part = take_name(rest)) {
    is_within = part != "..";
    if (!name.empty()) name += '/';
    name += part;
  }
  if (!is_within)
    throw InvalidArgumentError(
        fmt::format("{}: not in the directory {}", path, directory.empty() ? "." : directory));
  return name;
}

}  // namespace crochet::inline v0::internal
