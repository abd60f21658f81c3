// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/stored_parts.h"

#include <set>
#include <utility>

namespace crochet::inline v0 {

StoredParts::StoredParts() : StoredParts(Map()) {}

StoredParts::StoredParts(Map parts, bool is_partial)
    : parts_(std::make_shared<const Map>(std::move(parts))), is_partial_(is_partial) {}

std::string StoredParts::full_name(std::string_view name) const {
  std::string full = root_;
  if (!full.empty() && !name.empty()) full += '/';
  return full.append(name);
}

const StoredParts::Part* StoredParts::find(std::string_view name) const {
  const auto found = parts_->find(full_name(name));
  return found == parts_->end() ? nullptr : &found->second;
}

const StoredParts::Part* StoredParts::first() const {
  if (!root_.empty())
    if (const Part* const own = find("")) return own;
  const std::string start = root_.empty() ? "" : root_ + '/';
  const auto first = parts_->lower_bound(start);
  return first == parts_->end() || !first->first.starts_with(start) ? nullptr : &first->second;
}

bool StoredParts::empty() const { return first() == nullptr; }

bool StoredParts::is_own() const {
  const Part* const part = first();
  return part != nullptr && part->is_own;
}

StoredParts::Map StoredParts::all() const {
  if (root_.empty()) return *parts_;
  Map all;
  if (const Part* const own = find("")) all.emplace("", *own);
  const std::string start = root_ + '/';
  for (auto each = parts_->lower_bound(start);
       each != parts_->end() && each->first.starts_with(start); ++each)
    all.emplace(each->first.substr(start.size()), each->second);
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
  parts.root_ = full_name(name);
  return parts;
}

}  // namespace crochet::inline v0
