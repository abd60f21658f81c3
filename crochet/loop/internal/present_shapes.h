// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "crochet/session/graph.h"
#include "crochet/tensor/shape.h"

namespace crochet::inline v0::internal {

// The shapes that tracked arrays whose size may change have now, by their names: also of arrays
// that containers, optionals, variants and pointers own. Empty for a graph of another engine.
std::map<std::string, Shape> present_shapes(const Graph& graph);

}  // namespace crochet::inline v0::internal
