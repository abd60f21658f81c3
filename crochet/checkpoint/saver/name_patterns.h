// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/base/export.h"

namespace crochet::inline v0 {

// Names of variables and objects: none, all, or those that match a pattern of the shell, in which
// `*` stands for any characters, including "/", `?` for one, and `[ab]` for one of several. A
// pattern without `*` also matches all that is beneath the name: "model" is "model" and "model/w".
//
//   {.allow_missing = {"model/momentum", "optimizer/*"}, .allow_surplus = true}
class CROCHET_EXPORT NamePatterns {
 public:
  // A template, since a pointer would convert to bool.
  template <std::same_as<bool> Bool>
  NamePatterns(Bool all) {
    if (all) patterns_.emplace_back("*");
  }
  NamePatterns(std::initializer_list<std::string> patterns) : patterns_(patterns) {}
  NamePatterns(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}

  bool match(const std::string& name) const;
  // The same by the patterns without `*` alone.
  bool match_without_star(const std::string& name) const;
  // True if no name matches.
  bool empty() const { return patterns_.empty(); }
  // True if every name does, by `true`.
  bool is_all() const { return patterns_.size() == 1 && patterns_.front() == "*"; }
  const std::vector<std::string>& patterns() const { return patterns_; }

 private:
  std::vector<std::string> patterns_;
};

namespace internal {

// The pattern that matches just this name, and what is beneath it.
CROCHET_EXPORT std::string pattern_for(std::string_view name);
// The text as a literal of C++.
CROCHET_EXPORT std::string literal(std::string_view text);

}  // namespace internal

// Where a value is stored under another name than the program's: each may have one `*`, which
// stands for the same characters in both. Without one, it is the value and all beneath its name.
struct StoredName {
  std::string name = {};
  std::string stored_as = {};

  friend bool operator==(const StoredName&, const StoredName&) = default;
};

}  // namespace crochet::inline v0
