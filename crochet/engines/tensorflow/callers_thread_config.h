// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/session/graph.h"

namespace crochet::tensorflow {

// Settings of a session of this process whose runs compute one operation after another on the
// thread that called, instead of handing them to TensorFlow's threads: for graphs of many small
// operations, where handing over costs more than computing side by side saves. What one operation
// splits over threads by itself, a large product, it still does.
//
//   train({.graph = graph, .config = tensorflow::callers_thread_config()}, body);
//
// An operation that waits for another one of its own run, such as a dequeue for an enqueue, keeps
// that run waiting until its timeout. A timeout is looked at once nothing is left to compute: it
// does not end a loop (While) that goes on for ever; closing the session does.
//
// `base` is what else is wanted: a serialized ConfigProto.
SessionConfig callers_thread_config(std::string base = {});

}  // namespace crochet::tensorflow
