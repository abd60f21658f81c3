// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "crochet/engines/tensorflow/graph.h"
#include "crochet/engines/tensorflow/internal/definitions.h"
#include "crochet/engines/tensorflow/internal/meta_graph_writer.h"

namespace crochet::inline v0::tensorflow {
namespace {

// Operations that crochet adds to every graph it imports, so they need not be exported.
bool is_of_crochet(std::string_view name) { return name.starts_with("crochet/"); }

}  // namespace

// The items of the file come first in each collection.
MetaGraph Graph::additions() const {
  MetaGraph result;
  for (const std::string& name : collection_names()) {
    if (internal::holds_variables(name)) continue;
    const std::vector<Output> all = collection(name);
    const auto imported = definition_.nodes.find(name);
    size_t next = imported == definition_.nodes.end() ? 0 : imported->second.size();
    for (; next < all.size(); ++next) result.nodes[name].push_back(to_string(all[next]));
  }
  for (const auto& [name, variables] : added_to_collections_)
    for (const VariableDef* const variable : variables) result.variables[name].push_back(*variable);
  return result;
}

bool Graph::is_extended(const MetaGraph& additions) const {
  const auto is_foreign = [](const auto& node) { return !is_of_crochet(node->name); };
  const auto added = nodes_.begin() + static_cast<std::ptrdiff_t>(num_imported_);
  return std::any_of(added, nodes_.end(), is_foreign) ||
         static_cast<size_t>(TF_GraphNumFunctions(graph_.get())) != num_imported_functions_ ||
         std::ranges::any_of(additions.nodes, [](const auto& entry) {
           return !std::ranges::all_of(entry.second, is_of_crochet);
         });
}

Graph::Size Graph::size_with(const MetaGraph& additions) const {
  Size size = {.num_nodes = nodes_.size(),
               .num_functions = static_cast<size_t>(TF_GraphNumFunctions(graph_.get())),
               .num_collected = 0};
  for (const auto& [name, nodes] : additions.nodes) size.num_collected += nodes.size();
  return size;
}

// Cached until the graph grows: savers call this at each save.
std::shared_ptr<const std::string> Graph::meta_graph() const {
  if (nodes_.empty()) return bytes_;
  MetaGraph more = additions();
  if (bytes_ && !is_extended(more)) return bytes_;
  const Size size = size_with(more);
  if (built_bytes_ && built_size_ == size) return built_bytes_;
  more.tensorflow_version = TF_Version();
  more.graph_def =
      internal::view_of(*internal::graph_def(graph_.get(), "the graph as a MetaGraphDef"));
  built_size_ = size;
  built_bytes_ = std::make_shared<const std::string>(bytes_ ? internal::extend(*bytes_, more)
                                                            : internal::serialize(more));
  return built_bytes_;
}

}  // namespace crochet::inline v0::tensorflow
