// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/checkpoint/format/internal/stored_tensor.h"

namespace crochet::inline v0::internal {

// True for the key of a slice of a partitioned tensor (slice_key.h). No name is such a key.
inline bool is_slice_key(std::string_view key) { return key.starts_with('\0'); }

// The order of entries: those of slices, then the others, by name. It is that of the bytes, but for
// an empty name.
struct StoredOrder {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    return is_slice_key(a) == is_slice_key(b) ? a < b : is_slice_key(a);
  }
};

// The entries of a checkpoint's index, in their order. Contiguous: a map would allocate a node for
// each entry, of which there may be 100,000.
class StoredTensors {
 public:
  using Map = std::map<std::string, StoredTensor, StoredOrder>;
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
    return std::ranges::lower_bound(items_, name, StoredOrder(), &Item::first);
  }
  // All but those of slices.
  std::span<const Item> named() const {
    return std::span(items_).subspan(static_cast<size_t>(lower_bound("") - begin()));
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
