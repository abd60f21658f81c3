// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/ranks/internal/rank_shards.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/group/internal/message_bytes.h"
#include "crochet/session/internal/rank_layout.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/tensor/internal/slice_cover.h"

namespace crochet::inline v0::internal {
namespace {

// The places of all parts, in the order of their names, which is the same in all ranks.
std::string encode(const RankLayout& layout) {
  MessageWriter writer;
  for (const auto& [name, part] : layout.slices())
    for (const SliceExtent& extent : part.place.slice)
      writer.number(extent.start).number(extent.length);
  return writer.take();
}

// What is wrong with the parts of one variable, by rank; empty: nothing.
std::string wrong_in(const std::string& name, const Shape& full_shape,
                     const std::vector<TensorSlice>& parts) {
  const SliceCover cover = cover_of(parts);
  if (cover.is_entangled)
    return fmt::format("sharded \"{}\" of {}: the parts of {} ranks are too entangled to compare",
                       name, full_shape, parts.size());
  if (cover.overlap) {
    const auto& [i, j] = *cover.overlap;
    return fmt::format("sharded \"{}\" of {}: the parts of rank {} ({}) and rank {} ({}) overlap",
                       name, full_shape, i, to_string(parts[i]), j, to_string(parts[j]));
  }
  if (cover.num_elements != full_shape.num_elements())
    return fmt::format(
        "sharded \"{}\" of {}: the parts of {} rank{} have {} elements, expected {} "
        "in all",
        name, full_shape, parts.size(), parts.size() == 1 ? "" : "s", cover.num_elements,
        full_shape.num_elements());
  return {};
}

// The same of all variables. `all` are the places in each rank.
std::string wrong_in(const RankLayout& layout, const std::vector<std::string>& all) {
  std::vector<MessageReader> readers(all.begin(), all.end());
  for (const auto& [name, part] : layout.slices()) {
    std::vector<TensorSlice> parts;
    for (MessageReader& reader : readers) {
      TensorSlice slice;
      for (size_t i = 0; i < part.place.slice.size(); ++i) {
        const int64_t start = reader.number();
        slice.push_back({start, reader.number()});
      }
      parts.push_back(std::move(slice));
    }
    if (std::string wrong = wrong_in(name, part.place.full_shape, parts); !wrong.empty())
      return wrong;
  }
  return {};
}

}  // namespace

void check_shards(const Graph& graph, RunAgreement& agreement) {
  const auto layout = RankLayout::find(graph);
  if (!layout || layout->slices().empty()) return;
  const std::vector<std::string> all = agreement.gather(encode(*layout));
  const std::string wrong = agreement.share(agreement.is_chief() ? wrong_in(*layout, all) : "");
  if (!wrong.empty()) throw InvalidArgumentError(wrong);
}

}  // namespace crochet::inline v0::internal
