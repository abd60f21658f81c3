// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/internal/part_walks.h"

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

// The value's own name is known to the caller.
std::string part_of(const std::string& name) {
  return name.empty() ? "" : fmt::format("\"{}\": ", name);
}

}  // namespace

void throw_cannot_make(const std::string& name) {
  throw InvalidArgumentError(
      fmt::format("{}the checkpoint has a part that the program lacks and cannot make: its type "
                  "has no default constructor, or cannot be moved; make the part before",
                  part_of(name)));
}

void throw_valueless(const std::string& name) {
  throw FailedPreconditionError(
      fmt::format("{}a tracked variant has no value, since an exception took it", part_of(name)));
}

void throw_bad_keys(const std::string& name) {
  throw InvalidArgumentError(fmt::format(
      "{}the stored keys are not as many as the values, or one is there twice", part_of(name)));
}

void throw_partial_keys(const std::string& name) {
  throw InvalidArgumentError(fmt::format(
      "{}a container whose keys have parts is restored as a whole or not at all", part_of(name)));
}

size_t stored_size(const StoredParts& stored, size_t first) {
  size_t size = first;
  while (!stored.beneath(std::to_string(size)).empty()) ++size;
  return size;
}

}  // namespace crochet::inline v0::internal
