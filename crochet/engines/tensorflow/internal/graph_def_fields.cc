// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/graph_def_fields.h"

#include <algorithm>
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

// Of a repeated key the last one counts.
std::string_view NodeFields::attribute(std::string_view key) const {
  const auto found = std::find_if(attributes.rbegin(), attributes.rend(),
                                  [&](const MapEntry& entry) { return entry.key == key; });
  return found == attributes.rend() ? std::string_view() : found->value;
}

std::string_view NodeFields::shared_name() const {
  std::string_view name;
  ProtoReader(attribute("shared_name"), "attr").read(view_at(kAttrString, name));
  return name;
}

}  // namespace crochet::inline v0::tensorflow::internal
