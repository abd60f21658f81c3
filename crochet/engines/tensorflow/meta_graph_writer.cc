// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/meta_graph_writer.h"

#include <protozero/pbf_writer.hpp>

namespace crochet::tensorflow {
namespace {

// The fields of a MetaGraphDef, and of what is in it.
constexpr uint32_t kMetaInfo = 1;
constexpr uint32_t kGraphDef = 2;
constexpr uint32_t kCollection = 4;
constexpr uint32_t kTensorFlowVersion = 5;
constexpr uint32_t kNodeList = 1;
constexpr uint32_t kBytesList = 2;

std::string serialize(const VariableDef& variable) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  message.add_string(1, variable.variable_name);
  message.add_string(2, variable.initializer_name);
  message.add_string(3, variable.snapshot_name);
  message.add_bool(5, variable.is_resource);
  message.add_string(6, variable.initial_value_name);
  message.add_bool(7, variable.trainable);
  return bytes;
}

void add_collection(protozero::pbf_writer& graph, const std::string& name, uint32_t kind,
                    const std::vector<std::string>& items) {
  protozero::pbf_writer entry(graph, kCollection);
  entry.add_string(1, name);
  protozero::pbf_writer collection(entry, 2);
  protozero::pbf_writer list(collection, kind);
  for (const std::string& item : items) list.add_string(1, item);
}

}  // namespace

std::string serialize(const MetaGraph& graph) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  {
    protozero::pbf_writer info(message, kMetaInfo);
    info.add_string(kTensorFlowVersion, graph.tensorflow_version);
  }
  message.add_string(kGraphDef, graph.graph_def);
  for (const auto& [name, nodes] : graph.nodes) add_collection(message, name, kNodeList, nodes);
  for (const auto& [name, variables] : graph.variables) {
    std::vector<std::string> items;
    for (const VariableDef& variable : variables) items.push_back(serialize(variable));
    add_collection(message, name, kBytesList, items);
  }
  return bytes;
}

}  // namespace crochet::tensorflow
