// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/renamed_entries.h"

#include <utility>

#include "crochet/checkpoint/saver/stored_names.h"

namespace crochet::inline v0::internal {

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
