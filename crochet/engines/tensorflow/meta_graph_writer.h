// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "crochet/engines/tensorflow/meta_graph.h"

namespace crochet::tensorflow {

// A MetaGraphDef: what parse_meta_graph() and tf.compat.v1.train.import_meta_graph() read. Written
// are the version, the graph, collections of operations and of variables that are no parts.
std::string serialize(const MetaGraph& graph);

// The MetaGraphDef `bytes` with the graph of `more` in the place of its own, and with the items of
// its collections behind those that are there; all else is kept, bit for bit.
// A collection of another kind than the one in `more` stays as it is.
// Throws: DataLossError for bytes that are no MetaGraphDef.
std::string extend(std::string_view bytes, const MetaGraph& more);

}  // namespace crochet::tensorflow
