// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "crochet/engines/tensorflow/internal/c_api.h"
#include "crochet/tensor/dtype.h"

namespace crochet::inline v0::tensorflow::internal {

// True for real and complex types.
bool has_derivatives(DType dtype);

// Adds operations "<prefix>/..." that compute the derivatives of the sum of `ys` by `xs`; in the
// result `oper` is null where no y depends on x.
//
// Unlike TF_AddGradients it leaves the graph unchanged if it throws, accepts xs that no y depends
// on and the same x twice, returns the full derivatives if one y depends on another, and never
// aborts the process: loops are rejected.
//
// Requires: ys and xs are outputs of this graph, of types that have derivatives, or resources; no
// name begins with `prefix`.
// Throws: UnimplementedError, naming the operations, for operations without a gradient, and for
// loops; TensorFlow's errors.
std::vector<TF_Output> add_gradients(TF_Graph* graph, const std::string& prefix,
                                     std::span<const TF_Output> ys, std::span<const TF_Output> xs);

}  // namespace crochet::inline v0::tensorflow::internal
