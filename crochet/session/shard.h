// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/session/output.h"
#include "crochet/tensor/shape.h"

namespace crochet::inline v0 {

class Graph;

// The part of an array that one process has, where several processes (ranks) have it together.
struct Shard {
  Shape full_shape = {};             // Of all parts together.
  std::vector<int64_t> offset = {};  // Of this part's first element, by dimension.
};

// What a restore does with values that each rank has for itself, if the checkpoint is of another
// number of ranks.
enum class Regroup {
  kRefuse,  // An InvalidArgumentError.
  kFresh,   // They keep their initial values.
};

// Declares that a variable of this process is a part of a variable that all ranks have together. A
// checkpoint has it as one variable, under the same name. For variables of any engine, before the
// run; Loop programs track sharded(array, shard).
// Throws: InvalidArgumentError if the part reaches outside, or the variable's shape is not known.
CROCHET_EXPORT void shard_variable(Graph& graph, const Variable& variable, const Shard& shard);

}  // namespace crochet::inline v0
