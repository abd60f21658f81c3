// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "crochet/session/graph.h"

namespace crochet::tensorflow {

// Settings of a session of this process whose runs are made by TensorFlow's single-threaded
// executor: one operation after another, in an order found beforehand, on the thread that called,
// or on another one if the run has a timeout. No run of many small operations costs less.
//
//   train({.graph = graph, .config = tensorflow::single_threaded_config()}, body);
//
// That executor refuses some of what the usual one runs, by callers_thread_config() on one thread,
// too. The first run that has one of these throws:
//
// - UnimplementedError: a reference variable.
// - FailedPreconditionError: control flow of the graph itself (Switch, Merge, Enter; `If`, `While`
//   and calls of functions run).
//
// Where its runs could hang whatever their timeouts are, InvalidArgumentError is thrown: by a
// session of more than one device (ConfigProto.device_count limits them) or on the caller's thread
// as well (inter_op_parallelism_threads < 0), and by a run for which
// RunOptions::inter_op_thread_pool < 0.
//
// An operation that waits for another one of its own run waits until the timeout, and a run with a
// timeout keeps a thread of TensorFlow's to itself. RunMetadata has no operations.
//
// `base` is what else is wanted: a serialized ConfigProto.
SessionConfig single_threaded_config(std::string base = {});

namespace internal {

// Whether a serialized ConfigProto asks for that executor.
// Throws: InvalidArgumentError if its timeouts would not hold, or if it is none.
bool is_single_threaded(std::string_view config);

}  // namespace internal
}  // namespace crochet::tensorflow
