// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "crochet/engines/tensorflow/attribute.h"
#include "crochet/engines/tensorflow/c_api.h"
#include "crochet/engines/tensorflow/graph.h"

namespace crochet::tensorflow::internal {

// What an operation is given besides what its builder was told.
struct RuledOperation {
  Attributes attributes = {};  // Unless they are given.
  std::vector<TF_Operation*> control_inputs = {};
};

// Where an operation that TensorFlow takes would go wrong later, unnoticed:
//
// - A variable without a shared_name has its own name. Without one it would be the same as all
//   others that have none.
// - What assigns to a variable of a known shape, or within a function, checks the shape in each
//   run, too.
// - What adds to the global step, or has a function that may, waits for the read that
//   Graph::global_step() is.
//
// `attributes`: those that it is given.
// Throws: AlreadyExistsError if a variable of another name has this one as its shared_name.
RuledOperation apply_rules(const Graph& graph, const std::string& type, const std::string& name,
                           const std::vector<std::vector<TF_Output>>& inputs,
                           const Attributes& attributes);

}  // namespace crochet::tensorflow::internal
