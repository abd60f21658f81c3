// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

struct TF_Graph;

namespace crochet::inline v0::tensorflow::internal {

// True for types of operations that hold session state that runs change: variables, and types
// that TensorFlow, or a loaded library, describes as the source of a resource.
//
// Tables that are filled once by their initialiser, and resources that end with a run, such as
// stacks and tensor arrays, are not state.
bool holds_state(TF_Graph* graph, const std::string& type);

}  // namespace crochet::inline v0::tensorflow::internal
