// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/internal/present_shapes.h"

#include "crochet/base/internal/dynamic_type.h"
#include "crochet/session/internal/nested_names.h"
#include "crochet/session/parted_saveable.h"

namespace crochet::inline v0::internal {

std::map<std::string, Shape> present_shapes(const Graph& graph) {
  std::map<std::string, Shape> shapes;
  for (const Variable& variable : graph.variables())
    if (!variable.shape().is_fully_known())
      shapes.emplace(variable.name(), graph.present_shape(variable));
  for (const RegisteredSaveable& each : graph.saveables())
    if (const auto* const parted = dynamic_as<const PartedSaveable>(each.object.get()))
      for (const StatePart& part : parted->parts_for(StoredParts()))
        if (!part.is_object && !part.shape.is_fully_known())
          shapes.emplace(full_name(each.name, part.key), part.present_shape.value_or(part.shape));
  return shapes;
}

}  // namespace crochet::inline v0::internal
