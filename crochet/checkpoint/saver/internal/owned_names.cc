// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/owned_names.h"

#include <algorithm>

#include "crochet/base/internal/dynamic_type.h"
#include "crochet/checkpoint/saver/internal/stored_names.h"
#include "crochet/session/internal/nested_names.h"
#include "crochet/session/parted_saveable.h"

namespace crochet::inline v0::internal {
namespace {

// A part's name: the owner's name, which is `head` and `tail`, with `inserted` between these.
struct Split {
  std::string head;  // Empty, or ends with "/".
  std::string inserted;
  std::string tail;
};

// With the shortest head that fits.
std::optional<Split> split(const OwnedName& part) {
  const std::string &name = part.name, &owner = part.owner;
  for (size_t head = 0; head < owner.size(); ++head) {
    if (head > 0 && owner[head - 1] != '/') continue;
    const std::string tail = owner.substr(head);
    if (name.size() > owner.size() && name.starts_with(owner.substr(0, head)) &&
        name.ends_with(tail))
      return Split{owner.substr(0, head), name.substr(head, name.size() - owner.size()), tail};
  }
  return std::nullopt;
}

size_t first_match(const std::vector<StoredName>& rules, const std::string& name) {
  return static_cast<size_t>(
      std::ranges::find_if(rules,
                           [&](const auto& rule) { return stored_by(rule, name).has_value(); }) -
      rules.begin());
}

// `text` without `end`; unset if it does not end with it.
std::optional<std::string> without_end(const std::string& text, const std::string& end) {
  if (!text.ends_with(end)) return std::nullopt;
  return text.substr(0, text.size() - end.size());
}

}  // namespace

std::vector<OwnedName> value_names(const Graph& graph) {
  std::vector<OwnedName> names;
  for (const Variable& variable : graph.variables()) names.push_back({variable.name(), ""});
  for (const RegisteredSaveable& each : graph.saveables())
    if (const auto* const parted = dynamic_as<const PartedSaveable>(each.object.get()))
      for (const StatePart& part : parted->parts_for(StoredParts()))
        names.push_back({full_name(each.name, part.key), part.named_after, each.name});
  return names;
}

std::optional<std::string> stored_with_owner(const std::vector<StoredName>& rules,
                                             const OwnedName& part) {
  const size_t rule = first_match(rules, part.owner), own_rule = first_match(rules, part.name);
  const std::optional<Split> names = split(part);
  if (rule == rules.size() || own_rule == rule || !names) return std::nullopt;
  const auto& [head, inserted, tail] = *names;
  // A rule of its own may be about what is before the owner's name.
  const std::string own = stored_name(rules, part.name);
  const std::optional<std::string> own_start = without_end(own, tail);
  if (own_rule < rule && (!own_start || own == part.name || rules[own_rule].name == part.name))
    return std::nullopt;
  const std::string before = own_start.value_or(head + inserted);
  const std::string owner = *stored_by(rules[rule], part.owner);
  if (head.empty()) return before + owner;
  const std::string stored_head = without_end(before, inserted).value_or(head);
  if (owner.starts_with(stored_head)) return before + owner.substr(stored_head.size());
  const std::optional<std::string> other_head = without_end(owner, tail);
  return other_head ? std::optional(*other_head + inserted + tail) : std::nullopt;
}

}  // namespace crochet::inline v0::internal
