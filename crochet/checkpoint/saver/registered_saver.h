// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "crochet/base/export.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0 {

// Makes `saver` the saver of the graph: Scaffold and CheckpointSaverHook use it unless they have
// one of their own. TensorFlow's collection SAVERS.
CROCHET_EXPORT void register_saver(Graph& graph, std::shared_ptr<Saver> saver);

// The saver of the graph; null if it has none. Throws: FailedPreconditionError if several
// were registered.
CROCHET_EXPORT std::shared_ptr<Saver> registered_saver(const Graph& graph);

}  // namespace crochet::inline v0
