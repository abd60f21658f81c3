// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/base/export.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0::tensorflow {

// Settings of a session in this process whose runs compute one operation after another on the
// calling thread, rather than on TensorFlow's threads: for graphs of many small
// operations, where switching threads costs more than parallelism saves. A single operation, such
// as a large product, may still use several threads.
//
//   train({.graph = graph, .config = tensorflow::callers_thread_config()}, body);
//
// An operation that waits for another one of the same run, such as a dequeue for an enqueue, blocks
// that run until its timeout. A timeout is checked only when nothing is left to compute: it
// does not end an endless loop (While); closing the session does.
//
// `base`: other settings, a serialized ConfigProto.
CROCHET_EXPORT SessionConfig callers_thread_config(std::string base = {});

}  // namespace crochet::inline v0::tensorflow
