// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "crochet/engines/tensorflow/meta_graph.h"

namespace crochet::inline v0::tensorflow::internal {

// Serializes a MetaGraphDef for parse_meta_graph() and tf.compat.v1.train.import_meta_graph(). It
// has the version, the graph, and collections of operations and of unpartitioned variables.
std::string serialize(const MetaGraph& graph);

// The MetaGraphDef `bytes` with its graph replaced by that of `more`, and with the items of
// the collections of `more` appended; everything else is kept, bit for bit.
// A collection of another kind than the one in `more` is not changed.
// Throws: DataLossError for bytes that are not a MetaGraphDef.
std::string extend(std::string_view bytes, const MetaGraph& more);

}  // namespace crochet::inline v0::tensorflow::internal
