// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "crochet/engines/tensorflow/graph.h"
#include "crochet/engines/tensorflow/internal/c_api.h"

namespace crochet::inline v0::tensorflow::internal {

// Additions to an operation that its builder did not request.
struct RuledOperation {
  Attributes attributes = {};  // For those that are not given.
  std::vector<TF_Operation*> control_inputs = {};
};

// Rules for operations that TensorFlow accepts but that would silently fail later:
//
// - A variable without a shared_name gets its own name. Without one it would be the same as all
//   others without one.
// - An assignment to a variable of a known shape, or within a function, checks the shape in each
//   run.
// - An operation that adds to the global step, or has a function that may, waits for the read
//   Graph::global_step().
//
// `attributes`: the given ones.
// Throws: AlreadyExistsError if a variable of another name has this one as its shared_name.
RuledOperation apply_rules(const Graph& graph, const std::string& type, const std::string& name,
                           const std::vector<std::vector<TF_Output>>& inputs,
                           const Attributes& attributes);

}  // namespace crochet::inline v0::tensorflow::internal
