// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The state that a graph has, and the names under which it is saved.
#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "crochet/engines/tensorflow/graph.h"
#include "crochet/engines/tensorflow/internal/definitions.h"
#include "crochet/engines/tensorflow/internal/graph_def.h"
#include "crochet/engines/tensorflow/internal/graph_def_fields.h"
#include "crochet/engines/tensorflow/internal/resource_types.h"
#include "crochet/engines/tensorflow/internal/saver_entries.h"
#include "crochet/engines/tensorflow/sync_replicas_hook.h"

namespace crochet::inline v0::tensorflow {
namespace {

using internal::ProtoReader;
using internal::SaverEntry;

std::string text_attribute(TF_Operation* operation, const char* name) {
  internal::Status status;
  const TF_AttrMetadata about = TF_OperationGetAttrMetadata(operation, name, status.get());
  if (!status.ok() || about.type != TF_ATTR_STRING) return "";
  std::string text(static_cast<size_t>(about.total_size), '\0');
  TF_OperationGetAttrString(operation, name, text.data(), text.size(), status.get());
  return status.ok() ? text : "";
}

// Operations with the same resource name share its state.
std::string resource_of(TF_Operation* operation) {
  const std::string shared_name = text_attribute(operation, "shared_name");
  return shared_name.empty() ? TF_OperationName(operation) : shared_name;
}

// Calls `use` with each operation in the body of a function.
template <typename Use>
void for_each_node(TF_Function* function, const Use& use) {
  const internal::BufferPtr definition = internal::function_def(function);
  ProtoReader(internal::view_of(*definition), TF_FunctionName(function))
      .read(internal::message_at(internal::kFunctionNode, "node_def", [&](ProtoReader node) {
        use(internal::read_node(std::move(node)));
      }));
}

using EntriesByVariable = std::map<const TF_Operation*, const SaverEntry*>;

bool is_entry_of(const SaverEntry& entry, const Graph::Slice& part) {
  return entry.variable == part.handle && entry.slice.empty() == part.offset.empty();
}

// The variable's key in the saver's files; its own name if its parts have different keys, or none.
std::string name_in_files(const Graph::VariableNode& variable, const EntriesByVariable& entries) {
  std::string name;
  for (const Graph::Slice& part : variable.parts) {
    const auto found = entries.find(part.handle);
    if (found == entries.end() || !is_entry_of(*found->second, part)) return variable.name;
    if (name.empty()) name = found->second->key;
    if (name != found->second->key) return variable.name;
  }
  return name;
}

// The entries that the graph's only saver writes; empty if there are several, or if they are
// unknown.
std::vector<SaverEntry> entries_of_saver(const Graph& graph) {
  const MetaGraph& definition = graph.definition();
  const bool has_one = definition.saver || definition.savers.size() == 1;
  if (!has_one) return {};
  const SaverDef& saver = definition.saver ? *definition.saver : definition.savers.front();
  const OperationInfo* const root =
      graph.find_operation(internal::without_index(saver.save_tensor_name));
  // A GraphSaver reports that once it is used.
  if (root == nullptr) return {};
  return internal::read_saver(node_of(*root).operation).entries.value_or(std::vector<SaverEntry>());
}

// The resources of the queue and the accumulators of a SyncReplicasOptimizer: its hook fills
// the queue in each session, and the gradients in the accumulators belong to incomplete steps.
std::set<std::string> resources_of_sync_replicas(const Graph& graph) {
  std::vector<TF_Operation*> roots;
  for (const std::string_view collection : kSyncReplicasCollections)
    for (const Output& output : graph.collection(collection))
      roots.push_back(node_of(output).operation);
  std::set<std::string> resources;
  for (TF_Operation* const operation : internal::operations_run_by(std::move(roots))) {
    const std::string_view type = TF_OperationOpType(operation);
    if (type.find("ConditionalAccumulator") != std::string_view::npos ||
        type.find("FIFOQueue") != std::string_view::npos)
      resources.insert(resource_of(operation));
  }
  return resources;
}

}  // namespace

// If two variables would get the same name, the one that has it keeps it.
void Graph::take_names_of_saver() {
  const std::vector<SaverEntry> entries = entries_of_saver(*this);
  EntriesByVariable by_variable;
  for (const SaverEntry& entry : entries)
    if (entry.variable != nullptr) by_variable.emplace(entry.variable, &entry);
  std::map<VariableNode*, std::string> names;
  for (const auto& variable : variables_)
    names[variable.get()] = name_in_files(*variable, by_variable);
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    std::map<std::string, int> counts;
    for (const auto& [variable, name] : names) ++counts[name];
    for (auto& [variable, name] : names) {
      if (counts[name] == 1 || name == variable->name) continue;
      name = variable->name;
      is_changed = true;
    }
  }
  std::set<std::pair<const TF_Operation*, std::string>> written;
  for (const auto& [variable, name] : names) {
    variable->name = name;
    for (const Slice& part : variable->parts) written.emplace(part.handle, name);
  }
  std::set<std::string> others;
  for (const SaverEntry& entry : entries)
    if (!written.contains({entry.variable, entry.key})) others.insert(entry.key);
  other_entries_.assign(others.begin(), others.end());
}

bool Graph::saves_state(std::span<const Output> outputs) const {
  std::vector<TF_Operation*> roots;
  for (const Output& output : outputs) roots.push_back(node_of(output).operation);
  return std::ranges::any_of(internal::operations_run_by(std::move(roots)), [](TF_Operation* one) {
    return std::string_view(TF_OperationOpType(one)) == "SaveV2";
  });
}

std::set<std::string> Graph::known_resources() const {
  std::set<std::string> resources;
  for (const auto& variable : variables_)
    for (const Slice& part : variable->parts) resources.insert(resource_of(part.handle));
  // Local variables are initialised by each session.
  for (const VariableDef* const definition : definitions("local_variables")) {
    const OperationInfo* const handle =
        find_operation(internal::without_index(definition->variable_name));
    if (handle != nullptr) resources.insert(resource_of(node_of(*handle).operation));
  }
  return resources;
}

void Graph::check_free_resource(const std::string& name) const {
  for (TF_Operation* const operation : internal::operations_of(graph_.get()))
    if (std::string_view(TF_OperationOpType(operation)) == "VarHandleOp" &&
        text_attribute(operation, "shared_name") == name)
      throw AlreadyExistsError(
          fmt::format("variable \"{}\": it would be the same as \"{}\", which has that shared_name",
                      name, TF_OperationName(operation)));
}

std::vector<OtherState> Graph::find_other_state() const {
  std::vector<OtherState> states;
  std::map<std::string, bool> known_types;
  const auto holds_state = [&](std::string_view type) {
    const auto [found, is_new] = known_types.try_emplace(std::string(type));
    if (is_new) found->second = internal::holds_state(graph_.get(), found->first);
    return found->second;
  };
  std::set<std::string> known = known_resources();
  known.merge(resources_of_sync_replicas(*this));
  for (const auto& node : nodes_) {
    const char* const type = TF_OperationOpType(node->operation);
    if (holds_state(type) && !known.contains(resource_of(node->operation)))
      states.push_back({node->name, type});
  }
  for (const internal::FunctionPtr& function : internal::functions_of(graph_.get()))
    for_each_node(function.get(), [&](const internal::NodeFields& node) {
      if (!holds_state(node.op) || known.contains(std::string(node.shared_name()))) return;
      states.push_back(
          {fmt::format("{}/{}", TF_FunctionName(function.get()), node.name), std::string(node.op)});
    });
  for (const std::string& entry : other_entries_)
    states.push_back({entry, "entry of the graph's saver"});
  return states;
}

// Cached until the graph grows: savers call this at each save.
std::vector<OtherState> Graph::other_state() const {
  const std::lock_guard lock(other_state_mutex_);
  if (num_nodes_searched_ != nodes_.size()) other_state_ = find_other_state();
  num_nodes_searched_ = nodes_.size();
  return other_state_;
}

}  // namespace crochet::inline v0::tensorflow
