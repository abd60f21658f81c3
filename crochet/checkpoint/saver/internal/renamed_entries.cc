// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/renamed_entries.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "crochet/checkpoint/saver/internal/stored_names.h"
#include "crochet/session/internal/nested_names.h"

namespace crochet::inline v0::internal {
namespace {

// Calls `visit` with each item at and beneath a name.
template <typename Visit>
void for_each_item(const CheckpointContents& contents, const std::string& name,
                   const Visit& visit) {
  using Item = RenamedEntries::Item;
  if (const Item* const own = contents.find(name)) visit(*own);
  const std::string start = name + '/';
  for (auto each = std::ranges::lower_bound(contents.items(), start, {}, &Item::first);
       each != contents.items().end() && each->first.starts_with(start); ++each)
    visit(*each);
}

}  // namespace

RenamedEntries::RenamedEntries(const CheckpointContents& contents,
                               const std::vector<StoredName>& rules, IsFixed is_fixed)
    : contents_(contents), rules_(rules), is_fixed_(std::move(is_fixed)), is_used_(rules.size()) {
  if (rules.empty()) return;
  for (const Item& item : contents.items()) {
    if (rule_of(item.first) == kNone) entries_.emplace(item.first, &item);
    for (size_t i = 0; i < rules.size(); ++i)
      if (const auto name = name_stored_as(rules[i], item.first); name && rule_of(*name) == i)
        entries_.emplace(*name, &item);
  }
}

size_t RenamedEntries::rule_of(const std::string& name) const {
  const bool is_fixed = is_fixed_ && is_fixed_(name);
  for (size_t i = 0; i < rules_.size(); ++i)
    if (!(is_fixed && rules_[i].name.find('*') != std::string::npos) && stored_by(rules_[i], name))
      return i;
  return kNone;
}

std::vector<OwnedName> RenamedEntries::unlisted(const std::vector<OwnedName>& values) const {
  std::set<std::string> objects;
  std::map<std::string, std::string, std::less<>> by_stored_name;
  for (const OwnedName& value : values) {
    if (!value.owner.empty()) objects.insert(value.object);
    if (std::string name = stored_name(value.name); name != value.name)
      by_stored_name.emplace(std::move(name), value.name);
  }
  std::vector<OwnedName> names;
  for (const std::string& object : objects) {
    const std::string start = stored_name(object);
    for_each_item(contents_, start, [&](const Item& item) {
      const std::string_view name = item.first;
      for (size_t slash = name.find('/', start.size()); slash != std::string_view::npos;
           slash = name.find('/', slash + 1))
        if (const auto value = by_stored_name.find(name.substr(slash + 1));
            value != by_stored_name.end())
          names.push_back(
              {fmt::format("{}{}{}", object, name.substr(start.size(), slash + 1 - start.size()),
                           value->second),
               value->second, object});
    });
  }
  return names;
}

void RenamedEntries::follow_owners(std::vector<OwnedName> values) {
  if (rules_.empty()) return;
  for (OwnedName& part : unlisted(values)) values.push_back(std::move(part));
  std::map<std::string, const Item*> found;
  std::set<std::string, std::less<>> names, stay;
  for (const OwnedName& part : values) {
    if (part.owner.empty()) continue;
    const auto stored_as =
        is_fixed_ && is_fixed_(part.owner) ? std::nullopt : stored_with_owner(rules_, part);
    (stored_as ? names : stay).insert(part.name);
    if (!stored_as) continue;
    for_each_item(contents_, *stored_as, [&](const Item& item) {
      found.emplace(part.name + item.first.substr(stored_as->size()), &item);
    });
  }
  for (const std::string& name : names) {
    entries_.erase(name);
    const auto parts_of_it = all_beneath(entries_, name);
    entries_.erase(parts_of_it.begin(), parts_of_it.end());
  }
  const auto is_of_one_that_stays = [&](const std::string& name) {
    return is_any_at_or_above(name, [&](std::string_view each) { return stay.contains(each); });
  };
  for (const auto& [name, item] : found)
    if (const auto own = entries_.find(item->first);
        own != entries_.end() && own->second == item && !is_of_one_that_stays(item->first))
      entries_.erase(own);
  entries_.merge(found);
}

std::string RenamedEntries::stored_name(const std::string& name) const {
  const size_t rule = rule_of(name);
  return rule == kNone ? name : *stored_by(rules_[rule], name);
}

const RenamedEntries::Item* RenamedEntries::find(const std::string& name) const {
  if (rules_.empty()) return contents_.find(name);
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second;
}

void RenamedEntries::for_each(
    const std::function<void(const std::string& name, const Item& item)>& visit) const {
  if (rules_.empty())
    for (const Item& item : contents_.items()) visit(item.first, item);
  else
    for (const auto& [name, item] : entries_) visit(name, *item);
}

void RenamedEntries::use(const std::string& name) {
  if (rules_.empty()) return;
  if (const size_t rule = rule_of(name); rule != kNone) is_used_[rule] = true;
}

std::vector<StoredName> RenamedEntries::idle_rules() const {
  std::vector<StoredName> idle;
  for (size_t i = 0; i < rules_.size(); ++i)
    if (!is_used_[i]) idle.push_back(rules_[i]);
  return idle;
}

}  // namespace crochet::inline v0::internal
