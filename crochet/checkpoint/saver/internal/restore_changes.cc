// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/restore_changes.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "crochet/base/internal/listed.h"
#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {
namespace {

// "3 elements, was 8".
std::string change(const Shape& now, const Shape& before) {
  if (now.rank() != 1 || before.rank() != 1) return fmt::format("shape {}, was {}", now, before);
  return fmt::format("{} element{}, was {}", now[0], now[0] == 1 ? "" : "s", before[0]);
}

template <typename Names>
std::vector<std::string> quoted(const Names& names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(fmt::format("\"{}\"", name));
  return quoted;
}

// `2 entries dropped ("s/a", "s/b"), which allow_missing = {"s/*"} keeps`.
std::string described(const std::string& pattern, const std::vector<std::string>& names,
                      const char* what, const char* option, const char* effect) {
  return fmt::format("{} {} {} ({}), which .restore = {{.{} = {{{}}}}} {}", names.size(),
                     names.size() == 1 ? "entry" : "entries", what, listed(quoted(names)), option,
                     literal(pattern), effect);
}

// As many names as a line has room for: many parts are named by what they are parts of.
std::set<std::string> shortened(std::set<std::string> names) {
  constexpr size_t kMaxNames = 8;
  const auto depth = [](const std::string& name) { return std::ranges::count(name, '/'); };
  while (names.size() > kMaxNames) {
    const auto deepest = depth(*std::ranges::max_element(names, {}, depth));
    if (deepest == 0) break;
    std::set<std::string> shorter;
    for (const std::string& name : names)
      shorter.insert(depth(name) == deepest ? name.substr(0, name.rfind('/')) : name);
    names = std::move(shorter);
  }
  return names;
}

// `which .restore = {.keep = {"w", "x"}} keeps`.
std::string kept_by(const std::set<std::string>& names) {
  std::vector<std::string> patterns;
  for (const std::string& name : shortened(names)) patterns.push_back(literal(pattern_for(name)));
  return fmt::format("which .restore = {{.keep = {{{}}}}} keeps", fmt::join(patterns, ", "));
}

}  // namespace

void RestoreChanges::add_resized(const std::string& name, const Shape& now, const Shape& before,
                                 const std::string& kept_by) {
  resized_.push_back(fmt::format("\"{}\" ({})", name, change(now, before)));
  resized_kept_by_.insert(kept_by);
}

std::string RestoreChanges::to_string() const {
  std::vector<std::string> texts;
  for (const auto& [pattern, names] : dropped_)
    texts.push_back(described(pattern, names, "dropped", "allow_missing", "keeps"));
  for (const auto& [pattern, names] : made_)
    texts.push_back(described(pattern, names, "made", "allow_surplus", "leaves out"));
  if (!resized_.empty())
    texts.push_back(fmt::format("sizes of {}, {}", listed(resized_), kept_by(resized_kept_by_)));
  if (!replaced_.empty())
    texts.push_back(
        fmt::format("entries of {}, {}", listed(quoted(replaced_)), kept_by(replaced_)));
  return fmt::format("the checkpoint's structure replaces that of this program: {}",
                     fmt::join(texts, "; "));
}

}  // namespace crochet::inline v0::internal
