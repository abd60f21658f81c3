// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/name_patterns.h"

#include <algorithm>

#include <fnmatch.h>

namespace crochet::inline v0 {

bool NamePatterns::match(const std::string& name) const {
  return std::ranges::any_of(patterns_, [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

}  // namespace crochet::inline v0
