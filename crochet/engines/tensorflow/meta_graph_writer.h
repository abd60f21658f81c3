// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/engines/tensorflow/meta_graph.h"

namespace crochet::tensorflow {

// A MetaGraphDef: what parse_meta_graph() and tf.compat.v1.train.import_meta_graph() read. Written
// are the version, the graph, collections of operations and of variables that are no parts.
std::string serialize(const MetaGraph& graph);

}  // namespace crochet::tensorflow
