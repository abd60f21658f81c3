// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/internal/rank_layout.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/session/internal/nested_names.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0 {
namespace internal {
namespace {

constexpr std::string_view kRank = "/rank-";

// The number at the start of `text`, which ends there or before a "/".
std::optional<int64_t> leading_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  const bool is_last = end == text.data() + text.size();
  if (!is_last && *end != '/') return std::nullopt;
  return number;
}

}  // namespace

std::shared_ptr<RankLayout> RankLayout::find(const Graph& graph) {
  const auto attached = graph.attached<RankLayout>();
  return attached.empty() ? nullptr : attached.front();
}

std::shared_ptr<RankLayout> RankLayout::of(Graph& graph) {
  if (auto existing = find(graph)) return existing;
  const auto made = std::make_shared<RankLayout>();
  graph.attach(made);
  return made;
}

void RankLayout::set_rank(int rank, int size) {
  if (!per_rank_.empty() && (rank != rank_ || size != size_))
    throw FailedPreconditionError(
        fmt::format("values of each rank are declared already as those of rank {} of {}, not {} "
                    "of {}",
                    rank_, size_, rank, size));
  rank_ = rank;
  size_ = size;
}

void RankLayout::add_slice(const std::string& variable, Slice slice) {
  slices_.insert_or_assign(variable, std::move(slice));
}

const RankLayout::Slice* RankLayout::slice_of(std::string_view variable) const {
  const auto found = slices_.find(variable);
  return found == slices_.end() ? nullptr : &found->second;
}

std::string RankLayout::add_per_rank(const std::string& name, Regroup regroup) {
  if (!per_rank_.emplace(name, regroup).second)
    throw AlreadyExistsError(fmt::format("\"{}\" is tracked for each rank already", name));
  return fmt::format("{}{}{}", name, kRank, rank_);
}

bool RankLayout::has_rows(std::string_view name) const {
  return !rows_.empty() &&
         is_any_at_or_above(name, [this](std::string_view each) { return rows_.contains(each); });
}

std::optional<RankLayout::RankName> RankLayout::rank_name(std::string_view name) const {
  for (size_t at = name.find(kRank); at != std::string_view::npos; at = name.find(kRank, at + 1)) {
    if (!per_rank_.contains(name.substr(0, at))) continue;
    if (const auto rank = leading_number(name.substr(at + kRank.size())))
      return RankName{name.substr(0, at), *rank};
  }
  return std::nullopt;
}

}  // namespace internal

void shard_variable(Graph& graph, const Variable& variable, const Shard& shard) {
  const Shape& shape = variable.shape();
  const auto refuse = [&](const std::string& why) {
    throw InvalidArgumentError(fmt::format("the part {} at [{}] of \"{}\", which is {} in all: {}",
                                           shape, fmt::join(shard.offset, ","), variable.name(),
                                           shard.full_shape, why));
  };
  if (!shape.is_fully_known() || !shard.full_shape.is_fully_known())
    refuse("expected shapes without unknown sizes");
  const auto rank = static_cast<size_t>(shape.rank());
  if (rank == 0 || shard.full_shape.rank() != shape.rank() || shard.offset.size() != rank)
    refuse("expected the same number of dimensions, at least 1");
  internal::RankLayout::Slice slice{.place = {.full_shape = shard.full_shape},
                                    .is_empty = shape.num_elements() == 0,
                                    .is_whole = shape == shard.full_shape};
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t offset = shard.offset[static_cast<size_t>(i)];
    if (offset < 0 || shape[i] > shard.full_shape[i] - offset)
      refuse(fmt::format("it reaches outside in dimension {}", i));
    slice.place.slice.push_back({offset, shape[i]});
  }
  internal::RankLayout::of(graph)->add_slice(variable.name(), std::move(slice));
}

}  // namespace crochet::inline v0
