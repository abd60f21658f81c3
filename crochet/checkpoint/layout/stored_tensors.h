// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/checkpoint/layout/stored_tensor.h"

namespace crochet::inline v0::internal {

// The entries of a checkpoint's index, sorted by name; the slices of partitioned tensors have keys
// of their own (slice_key.h), which start with a zero byte. Contiguous: a map would allocate a
// node for each entry, of which there may be 100,000.
class StoredTensors {
 public:
  using Map = std::map<std::string, StoredTensor, std::less<>>;
  using Item = std::pair<std::string, StoredTensor>;
  using Iterator = std::vector<Item>::const_iterator;

  StoredTensors() = default;
  explicit StoredTensors(Map entries) {
    items_.reserve(entries.size());
    while (!entries.empty()) {
      auto first = entries.extract(entries.begin());
      items_.emplace_back(std::move(first.key()), std::move(first.mapped()));
    }
  }

  // Makes room for a number of entries; more may be appended.
  void reserve(size_t num_entries) { items_.reserve(num_entries); }
  // Requires: the name comes after all others.
  void append(std::string name, StoredTensor entry) {
    items_.emplace_back(std::move(name), std::move(entry));
  }

  size_t size() const { return items_.size(); }
  Iterator begin() const { return items_.begin(); }
  Iterator end() const { return items_.end(); }
  // The first item whose name is not less.
  Iterator lower_bound(std::string_view name) const {
    return std::ranges::lower_bound(items_, name, {}, &Item::first);
  }
  // That and all after it.
  std::span<const Item> from(std::string_view name) const {
    return std::span(items_).subspan(static_cast<size_t>(lower_bound(name) - begin()));
  }
  // end() if there is no such name.
  Iterator find(std::string_view name) const {
    const Iterator found = lower_bound(name);
    return found != end() && found->first == name ? found : end();
  }

 private:
  std::vector<Item> items_;
};

}  // namespace crochet::inline v0::internal
