// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/format.h>
#include <limits.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0 {
namespace {

// What is wrong with a name; null if nothing is.
const char* flaw_of(const std::string& name) {
  if (name.empty()) return "an empty one";
  if (name.size() > NAME_MAX) return "one that is too long for a file";
  if (name.find('\0') != std::string::npos) return "one with a zero byte";
  if (name.find('/') != std::string::npos) return "a path";
  if (name.starts_with('.')) return "one that starts with a dot, which listings hide";
  return nullptr;
}

}  // namespace

FileName::FileName(std::string name) : name_(std::move(name)) {
  if (const char* const flaw = flaw_of(name_))
    throw InvalidArgumentError(fmt::format(
        "\"{:.300}\": found {}, expected the name of a file in its directory", name_, flaw));
}

}  // namespace crochet::inline v0
