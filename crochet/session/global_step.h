// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "crochet/session/graph.h"

namespace crochet {

// The step counter of a graph, for every engine. Hooks ask Graph::global_step(), which is the
// counter and the read of it in one: fetched with a run that moves the step, it gives the
// step before. read_global_step() of session.h reads it in a run of its own.
//
//   get_or_create_global_step(graph);
//   const Operation train = increment_global_step(graph, 1, {apply_gradients});

// What Graph::global_step() is unless an engine knows better: the one output in
// kGlobalStepCollection; if there is none, the first output of the operation "global_step". Nothing
// if there is neither; nothing, and an error in the log, if the collection has several.
// Throws: InvalidArgumentError if it is known to be neither int32 nor int64, or no scalar.
Output find_global_step(const Graph& graph);

// Adds the counter, "global_step": an int64 of value 0.
// Throws: AlreadyExistsError if the graph has one; FailedPreconditionError once it is
// finalized; InvalidArgumentError as find_global_step().
Output create_global_step(Graph& graph);

// The counter the graph has, or a new one. Throws as above.
Output get_or_create_global_step(Graph& graph);

// An operation that adds `increment` to the counter, after `control_inputs`.
// Throws: FailedPreconditionError if the graph has none, or is finalized.
Operation increment_global_step(Graph& graph, int64_t increment = 1,
                                std::vector<Output> control_inputs = {});

}  // namespace crochet
