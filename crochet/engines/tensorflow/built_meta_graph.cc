// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "crochet/engines/tensorflow/c_api.h"
#include "crochet/engines/tensorflow/graph.h"
#include "crochet/engines/tensorflow/meta_graph_writer.h"
#include "crochet/engines/tensorflow/status.h"

namespace crochet::tensorflow {
namespace {

// What Python's programs, and a Scaffold here, look for.
constexpr std::array<std::string_view, 7> kCollections = {kInitOpCollection,
                                                          kReadyOpCollection,
                                                          kReadyForLocalInitOpCollection,
                                                          kLocalInitOpCollection,
                                                          kSummaryOpCollection,
                                                          kSummariesCollection,
                                                          "train_op"};

}  // namespace

// Made anew once the graph has grown: savers ask at each save.
std::shared_ptr<const std::string> Graph::meta_graph() const {
  if (bytes_ || nodes_.empty()) return bytes_;
  if (built_bytes_ && built_size_ == nodes_.size()) return built_bytes_;
  MetaGraph definition;
  definition.tensorflow_version = TF_Version();
  const internal::BufferPtr graph_def(TF_NewBuffer());
  internal::Status status;
  TF_GraphToGraphDef(graph_.get(), graph_def.get(), status.get());
  status.check("the graph as a MetaGraphDef");
  definition.graph_def.assign(static_cast<const char*>(graph_def->data), graph_def->length);
  for (const std::string_view name : kCollections)
    for (const Output& output : collection(name))
      definition.nodes[std::string(name)].push_back(to_string(output));
  for (const auto& [name, variables] : added_to_collections_)
    for (const VariableDef* const variable : variables)
      definition.variables[name].push_back(*variable);
  built_size_ = nodes_.size();
  built_bytes_ = std::make_shared<const std::string>(serialize(definition));
  return built_bytes_;
}

}  // namespace crochet::tensorflow
