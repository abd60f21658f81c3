// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/restore_changes.h"

#include <fmt/ranges.h>

#include "crochet/base/listed.h"
#include "crochet/tensor/fmt.h"

namespace crochet::inline v0::internal {
namespace {

// "3 elements, was 8".
std::string change(const Shape& now, const Shape& before) {
  if (now.rank() != 1 || before.rank() != 1) return fmt::format("shape {}, was {}", now, before);
  return fmt::format("{} element{}, was {}", now[0], now[0] == 1 ? "" : "s", before[0]);
}

// `2 entries dropped ("s/a", "s/b"), which allow_missing = {"s/*"} keeps`.
std::string described(const std::string& pattern, const std::vector<std::string>& names,
                      const char* what, const char* option, const char* effect) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(fmt::format("\"{}\"", name));
  return fmt::format("{} {} {} ({}), which .restore = {{.{} = {{\"{}\"}}}} {}", names.size(),
                     names.size() == 1 ? "entry" : "entries", what, listed(quoted), option, pattern,
                     effect);
}

}  // namespace

void RestoreChanges::add_resized(const std::string& name, const Shape& now, const Shape& before) {
  resized_.push_back(fmt::format("\"{}\" ({})", name, change(now, before)));
}

std::string RestoreChanges::to_string() const {
  std::vector<std::string> texts;
  for (const auto& [pattern, names] : dropped_)
    texts.push_back(described(pattern, names, "dropped", "allow_missing", "keeps"));
  for (const auto& [pattern, names] : made_)
    texts.push_back(described(pattern, names, "made", "allow_surplus", "leaves out"));
  if (!resized_.empty())
    texts.push_back(
        fmt::format("sizes of {}, which .restore = {{.keep = ...}} keeps", listed(resized_)));
  return fmt::format("the checkpoint's structure replaces that of this program: {}",
                     fmt::join(texts, "; "));
}

}  // namespace crochet::inline v0::internal
