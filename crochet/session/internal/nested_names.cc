// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/internal/nested_names.h"

namespace crochet::inline v0::internal {

std::string full_name(std::string_view owner, std::string_view part) {
  std::string full(owner);
  if (!owner.empty() && !part.empty()) full += '/';
  return full.append(part);
}

bool is_beneath(std::string_view name, std::string_view owner) {
  return name.size() > owner.size() && name.starts_with(owner) &&
         (owner.empty() || name[owner.size()] == '/');
}

bool is_at(std::string_view name, std::string_view owner) {
  return name == owner || is_beneath(name, owner);
}

}  // namespace crochet::inline v0::internal
