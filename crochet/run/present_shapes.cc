// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/present_shapes.h"

#include "crochet/base/internal/dynamic_type.h"
#include "crochet/engines/local/graph.h"
#include "crochet/run/internal/provided_state.h"

namespace crochet::inline v0::internal {

std::map<std::string, Shape> present_shapes(const Graph& graph) {
  std::map<std::string, Shape> shapes;
  const auto* const local_graph = dynamic_as<const local::Graph>(&graph);
  if (local_graph == nullptr) return shapes;
  for (const auto& variable : local_graph->variable_nodes())
    if (variable->array.resize) shapes.emplace(variable->name, variable->array.view().shape);
  for (const RegisteredSaveable& each : graph.saveables())
    if (const auto* const provided = dynamic_as<const ProvidedState>(each.object.get()))
      shapes.merge(provided->present_shapes());
  return shapes;
}

}  // namespace crochet::inline v0::internal
