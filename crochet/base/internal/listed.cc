// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/listed.h"

#include <cstddef>

#include <fmt/ranges.h>

namespace crochet::inline v0 {
namespace {

// Otherwise a checkpoint of another program would fill pages.
constexpr size_t kMaxListed = 8;

}  // namespace

std::string internal::listed(std::span<const std::string> texts) {
  if (texts.size() <= kMaxListed) return fmt::format("{}", fmt::join(texts, ", "));
  return fmt::format("{} and {} more", fmt::join(texts.first(kMaxListed), ", "),
                     texts.size() - kMaxListed);
}

}  // namespace crochet::inline v0
