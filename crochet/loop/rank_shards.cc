// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/rank_shards.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/group/message_bytes.h"
#include "crochet/session/rank_state.h"
#include "crochet/tensor/fmt.h"
#include "crochet/tensor/slice_cover.h"

namespace crochet::inline v0::internal {
namespace {

// The places of all parts, in the order of their names, which is the same in all ranks.
std::string encode(const RankState& state) {
  MessageWriter writer;
  for (const auto& [name, part] : state.parts())
    for (const SliceExtent& extent : part.place.slice)
      writer.number(extent.start).number(extent.length);
  return writer.take();
}

// Those of one variable, by rank.
void check_cover(const std::string& name, const Shape& full_shape,
                 const std::vector<TensorSlice>& parts) {
  const SliceCover cover = cover_of(parts);
  if (cover.is_entangled)
    throw InvalidArgumentError(
        fmt::format("sharded \"{}\" of {}: the parts of {} ranks are too entangled to compare",
                    name, full_shape, parts.size()));
  if (cover.overlap) {
    const auto& [i, j] = *cover.overlap;
    throw InvalidArgumentError(
        fmt::format("sharded \"{}\" of {}: the parts of rank {} ({}) and rank {} ({}) overlap",
                    name, full_shape, i, to_string(parts[i]), j, to_string(parts[j])));
  }
  if (cover.num_elements != full_shape.num_elements())
    throw InvalidArgumentError(fmt::format(
        "sharded \"{}\" of {}: the parts of {} rank{} have {} elements, expected {} in all", name,
        full_shape, parts.size(), parts.size() == 1 ? "" : "s", cover.num_elements,
        full_shape.num_elements()));
}

}  // namespace

void check_shards(const Graph& graph, Group* group, double timeout_secs) {
  const auto state = RankState::find(graph);
  if (!state || state->parts().empty()) return;
  const std::string own = encode(*state);
  const std::vector<std::string> all =
      group != nullptr ? group->all_gather(own, timeout_secs) : std::vector<std::string>{own};
  std::vector<MessageReader> readers(all.begin(), all.end());
  for (const auto& [name, part] : state->parts()) {
    std::vector<TensorSlice> parts;
    for (MessageReader& reader : readers) {
      TensorSlice slice;
      for (size_t i = 0; i < part.place.slice.size(); ++i) {
        const int64_t start = reader.number();
        slice.push_back({start, reader.number()});
      }
      parts.push_back(std::move(slice));
    }
    check_cover(name, part.place.full_shape, parts);
  }
}

}  // namespace crochet::inline v0::internal
