// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0 {

// The step counter of a graph, for every engine. Hooks use Graph::global_step(), an output that
// reads the counter: fetched with a run that increments the step, it gives the value from
// before the increment. read_global_step() of session.h reads it in a run of its own.
//
//   get_or_create_global_step(graph);
//   const Operation train = increment_global_step(graph, 1, {apply_gradients});

// What Graph::global_step() is unless an engine overrides it: the one output in
// kGlobalStepCollection; if there is none, the first output of the operation "global_step". Unset
// if there is neither; unset, with an error in the log, if the collection has several.
// Throws: InvalidArgumentError if it is known to be neither int32 nor int64, or not a scalar.
CROCHET_EXPORT Output find_global_step(const Graph& graph);

// Adds the counter, "global_step": an int64 of value 0.
// Throws: AlreadyExistsError if the graph has one; FailedPreconditionError once it is
// finalized; InvalidArgumentError as find_global_step() does.
CROCHET_EXPORT Output create_global_step(Graph& graph);

// The existing counter of the graph, or a new one. Throws as above.
CROCHET_EXPORT Output get_or_create_global_step(Graph& graph);

// An operation that adds `increment` to the counter, after `control_inputs`.
// Throws: FailedPreconditionError if the graph has no counter, or is finalized.
CROCHET_EXPORT Operation increment_global_step(Graph& graph, int64_t increment = 1,
                                               std::vector<Output> control_inputs = {});

}  // namespace crochet::inline v0
