// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/proto_reader.h"

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::tensorflow::internal {

void ProtoReader::throw_damaged(std::string_view what) const {
  throw DataLossError(fmt::format("{}: damaged or not a MetaGraphDef: {}", place_, what));
}

MapEntry read_map_entry(ProtoReader entry) {
  MapEntry result;
  entry.read(text_at(1, result.key), view_at(2, result.value));
  return result;
}

}  // namespace crochet::inline v0::tensorflow::internal
