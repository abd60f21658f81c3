// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "crochet/base/export.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0::tensorflow {

// Settings of a session in this process whose runs use TensorFlow's single-threaded
// executor: one operation after another, in an order computed beforehand, on the calling thread,
// or on another one if the run has a timeout. For many small operations it has the lowest overhead.
//
//   train({.graph = graph, .config = tensorflow::single_threaded_config()}, body);
//
// That executor rejects some operations that the default one runs, also with
// callers_thread_config(). The first run with one of these throws:
//
// - UnimplementedError: a reference variable.
// - FailedPreconditionError: control flow of the graph itself (Switch, Merge, Enter; `If`, `While`
//   and calls of functions run).
//
// If its runs could hang in spite of their timeouts, InvalidArgumentError is thrown: by a
// session with more than one device (ConfigProto.device_count limits them) or also with
// inter_op_parallelism_threads < 0 (the caller's thread), and by a run with
// RunOptions::inter_op_thread_pool < 0.
//
// An operation that waits for another one of the same run waits until the timeout, and a run with a
// timeout occupies one of TensorFlow's threads. RunMetadata has no operations.
//
// `base`: other settings, a serialized ConfigProto.
CROCHET_EXPORT SessionConfig single_threaded_config(std::string base = {});

namespace internal {

// True if a serialized ConfigProto selects that executor.
// Throws: InvalidArgumentError if timeouts would not work with it, or if it is not a ConfigProto.
CROCHET_EXPORT bool is_single_threaded(std::string_view config);

}  // namespace internal
}  // namespace crochet::inline v0::tensorflow
