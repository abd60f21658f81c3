// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The names of the parts of a value: "net/layer/w" is beneath "net/layer" and "net". All names are
// beneath "". No file system has a say in them: a name that starts with "/" is not absolute.
#pragma once

#include <string>
#include <string_view>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// The name of a part by its name within `owner`; "" is `owner` itself.
CROCHET_EXPORT std::string full_name(std::string_view owner, std::string_view part);

// True if the name is beneath `owner`.
bool is_beneath(std::string_view name, std::string_view owner);
// True if the name is `owner`, or beneath it.
bool is_at(std::string_view name, std::string_view owner);

// True if `is` holds for the name, or for one that it is beneath, except "".
template <typename Predicate>
bool is_any_at_or_above(std::string_view name, const Predicate& is) {
  for (size_t end = name.size(); end != std::string_view::npos;
       end = end == 0 ? std::string_view::npos : name.rfind('/', end - 1))
    if (is(name.substr(0, end))) return true;
  return false;
}

// Neighbours in a set or map.
template <typename Iterator>
struct Neighbours {
  Iterator first;
  Iterator last;

  Iterator begin() const { return first; }
  Iterator end() const { return last; }
  bool empty() const { return first == last; }
};

// What lies beneath `owner` in a set or map by names; for "", all that is in it.
template <typename Sorted>
auto all_beneath(Sorted& names, std::string_view owner) {
  if (owner.empty()) return Neighbours<decltype(names.begin())>{names.begin(), names.end()};
  std::string start(owner);
  start += '/';
  const auto first = names.lower_bound(start);
  start.back() = '0';  // The character after "/".
  return Neighbours<decltype(names.begin())>{first, names.lower_bound(start)};
}

// Calls `visit` with what is at and beneath `owner`, sorted by the names.
template <typename Sorted, typename Visit>
void for_each_at(Sorted& names, std::string_view owner, const Visit& visit) {
  if (!owner.empty())
    if (const auto own = names.find(owner); own != names.end()) visit(*own);
  for (auto& each : all_beneath(names, owner)) visit(each);
}

// True if there is something at or beneath `owner`.
template <typename Sorted>
bool has_at(const Sorted& names, std::string_view owner) {
  return names.contains(owner) || !all_beneath(names, owner).empty();
}

}  // namespace crochet::inline v0::internal
