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
  entry.for_each_field([&](uint32_t field, ProtoReader& value) {
    switch (field) {
      case bytes_field(1):
        result.key = value.text();
        return true;
      case bytes_field(2):
        result.value = value.view();
        return true;
      default:
        return false;
    }
  });
  return result;
}

}  // namespace crochet::inline v0::tensorflow::internal
