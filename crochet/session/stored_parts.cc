// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <utility>

#include "crochet/session/internal/nested_names.h"
#include "crochet/session/parted_saveable.h"

namespace crochet::inline v0 {

StoredParts::StoredParts() : StoredParts(Map()) {}

StoredParts::StoredParts(Map parts, bool is_partial)
    : parts_(std::make_shared<const Map>(std::move(parts))), is_partial_(is_partial) {}

const StoredParts::Part* StoredParts::find(std::string_view name) const {
  const auto found = parts_->find(internal::full_name(root_, name));
  return found == parts_->end() ? nullptr : &found->second;
}

const StoredParts::Part* StoredParts::first() const {
  if (!root_.empty())
    if (const Part* const own = find("")) return own;
  const auto all = internal::all_beneath(*parts_, root_);
  return all.empty() ? nullptr : &all.first->second;
}

bool StoredParts::empty() const { return first() == nullptr; }

bool StoredParts::is_own() const {
  const Part* const part = first();
  return part != nullptr && part->is_own;
}

StoredParts::Map StoredParts::all() const {
  if (root_.empty()) return *parts_;
  Map all;
  internal::for_each_at(*parts_, root_, [&](const auto& part) {
    const std::string& name = part.first;
    all.emplace(name == root_ ? "" : name.substr(root_.size() + 1), part.second);
  });
  return all;
}

std::vector<std::string> StoredParts::names() const {
  std::set<std::string> names;
  const std::string start = root_.empty() ? "" : root_ + '/';
  auto each = parts_->lower_bound(start);
  while (each != parts_->end() && each->first.starts_with(start)) {
    const std::string& full = each->first;
    const size_t slash = full.find('/', start.size());
    const std::string name = full.substr(start.size(), slash - start.size());
    if (!name.empty()) names.insert(name);
    // "0" is the character after "/".
    each = slash == std::string::npos ? std::next(each)
                                      : parts_->lower_bound(full.substr(0, slash) + '0');
  }
  return {names.begin(), names.end()};
}

StoredParts StoredParts::beneath(std::string_view name) const {
  StoredParts parts = *this;
  parts.root_ = internal::full_name(root_, name);
  return parts;
}

}  // namespace crochet::inline v0
