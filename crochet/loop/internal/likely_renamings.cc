// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/internal/likely_renamings.h"

#include <algorithm>
#include <map>
#include <set>

#include "crochet/base/internal/edit_distance.h"

namespace crochet::inline v0::internal {
namespace {

// Comparing more takes seconds, and a checkpoint that differs so much is another program's.
constexpr size_t kMaxPairs = 100'000;

struct Pair {
  const RestoreMismatch::Missing* missing;
  const RestoreMismatch::Surplus* surplus;
  size_t distance;
};

bool has_star(const std::string& name) { return name.find('*') != std::string::npos; }

bool can_be_renamed(const RestoreMismatch::Missing& missing,
                    const RestoreMismatch::Surplus& surplus) {
  return missing.value && missing.value->dtype == surplus.value.dtype &&
         surplus.value.shape.is_compatible_with(missing.value->shape) &&
         // RestoreOptions::rename takes a star for any characters.
         !has_star(missing.name) && !has_star(surplus.key);
}

// Sorted by distance.
std::vector<Pair> candidates(const RestoreMismatch& mismatch) {
  std::vector<Pair> pairs;
  if (mismatch.missing.size() * mismatch.surplus.size() > kMaxPairs) return pairs;
  for (const auto& missing : mismatch.missing)
    for (const auto& surplus : mismatch.surplus)
      if (can_be_renamed(missing, surplus))
        pairs.push_back({&missing, &surplus, edit_distance(missing.name, surplus.key)});
  std::ranges::stable_sort(pairs, {}, &Pair::distance);
  return pairs;
}

}  // namespace

std::vector<StoredName> likely_renamings(const RestoreMismatch& mismatch) {
  const std::vector<Pair> pairs = candidates(mismatch);
  std::map<const RestoreMismatch::Missing*, const RestoreMismatch::Surplus*> entries;
  std::set<const void*> done;  // Of either kind: those with an entry, and the ambiguous ones.
  for (size_t begin = 0, end = 0; begin < pairs.size(); begin = end) {
    std::vector<Pair> equal;
    for (; end < pairs.size() && pairs[end].distance == pairs[begin].distance; ++end)
      if (!done.contains(pairs[end].missing) && !done.contains(pairs[end].surplus))
        equal.push_back(pairs[end]);
    std::map<const void*, int> uses;
    for (const Pair& pair : equal) {
      ++uses[pair.missing];
      ++uses[pair.surplus];
    }
    for (const Pair& pair : equal) {
      if (uses[pair.missing] == 1 && uses[pair.surplus] == 1)
        entries.emplace(pair.missing, pair.surplus);
      done.insert({pair.missing, pair.surplus});
    }
  }
  std::vector<StoredName> renamings;
  for (const auto& missing : mismatch.missing)
    if (const auto entry = entries.find(&missing); entry != entries.end())
      renamings.push_back({missing.name, entry->second->key});
  return renamings;
}

}  // namespace crochet::inline v0::internal
