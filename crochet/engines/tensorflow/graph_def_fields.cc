// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/graph_def_fields.h"

#include <utility>

namespace crochet::inline v0::tensorflow::internal {

NodeFields read_node(ProtoReader node) {
  NodeFields fields;
  node.read(view_at(kNodeName, fields.name), view_at(kNodeOp, fields.op),
            texts_at(kNodeInput, fields.inputs), view_at(kNodeDevice, fields.device),
            message_at(kNodeAttr, "attr", [&](ProtoReader entry) {
              fields.attributes.push_back(read_map_entry(std::move(entry)));
            }));
  return fields;
}

}  // namespace crochet::inline v0::tensorflow::internal
