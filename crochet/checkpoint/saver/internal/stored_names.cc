// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/stored_names.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

// A text before and one after the `*`; without one, the whole text is before it.
struct StarPattern {
  explicit StarPattern(std::string_view pattern)
      : has_star(pattern.find('*') != std::string_view::npos),
        before(pattern.substr(0, pattern.find('*'))),
        after(has_star ? pattern.substr(pattern.find('*') + 1) : std::string_view()) {}

  bool has_star;
  std::string_view before;
  std::string_view after;
};

// What the `*` stands for, or without one, what follows the name; unset if the name does not match.
std::optional<std::string_view> match(const StarPattern& parts, std::string_view name) {
  if (name.size() < parts.before.size() + parts.after.size() || !name.starts_with(parts.before) ||
      !name.ends_with(parts.after))
    return std::nullopt;
  name.remove_prefix(parts.before.size());
  name.remove_suffix(parts.after.size());
  if (!parts.has_star && !name.empty() && name.front() != '/') return std::nullopt;
  return name;
}

// The pattern with a text for its `*`.
std::string filled(std::string_view pattern, std::string_view star) {
  const StarPattern parts(pattern);
  return fmt::format("{}{}{}", parts.before, star, parts.after);
}

}  // namespace

void check_stored_names(const std::vector<StoredName>& names) {
  for (const StoredName& each : names) {
    const auto stars = std::ranges::count(each.name, '*');
    if (stars > 1 || std::ranges::count(each.stored_as, '*') != stars || each.name.empty() ||
        each.stored_as.empty())
      throw InvalidArgumentError(fmt::format(
          "rename {{\"{}\", \"{}\"}}: found {} and {} \"*\", expected none, or one in each name",
          each.name, each.stored_as, stars, std::ranges::count(each.stored_as, '*')));
  }
}

std::optional<std::string> stored_by(const StoredName& rule, const std::string& name) {
  const auto star = match(StarPattern(rule.name), name);
  return star ? std::optional(filled(rule.stored_as, *star)) : std::nullopt;
}

std::optional<std::string> name_stored_as(const StoredName& rule, const std::string& stored_as) {
  const auto star = match(StarPattern(rule.stored_as), stored_as);
  return star ? std::optional(filled(rule.name, *star)) : std::nullopt;
}

std::string stored_name(const std::vector<StoredName>& names, const std::string& name) {
  for (const StoredName& each : names)
    if (auto stored = stored_by(each, name)) return *std::move(stored);
  return name;
}

std::string to_string(const StoredName& rule) {
  return fmt::format("{{\"{}\", \"{}\"}}", rule.name, rule.stored_as);
}

}  // namespace crochet::inline v0::internal
