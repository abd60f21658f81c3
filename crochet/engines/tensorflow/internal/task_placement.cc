// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/task_placement.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/cluster_spec.h"
#include "crochet/engines/tensorflow/internal/c_api.h"
#include "crochet/engines/tensorflow/internal/graph_def_fields.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

constexpr std::string_view kColocation = "loc:@";

// The names of the nodes that a node is colocated with, including its own.
std::vector<std::string_view> groups_of(const NodeFields& node) {
  std::vector<std::string_view> groups = {node.name};
  const auto add_group = [&](ProtoReader& value) {
    const std::string_view text = value.view();
    if (text.starts_with(kColocation)) groups.push_back(text.substr(kColocation.size()));
  };
  ProtoReader(node.attribute("_class"), "attr")
      .read(message_at(kAttrList, "list",
                       [&](ProtoReader list) { list.read(bytes_at(kListString, add_group)); }));
  return groups;
}

// True for types that hold a resource that only operations on the same device can use.
bool is_holder(std::string_view op) {
  constexpr std::array<std::string_view, 4> kWords = {"VarHandleOp", "Variable", "Queue",
                                                      "HashTable"};
  return std::ranges::any_of(kWords, [&](std::string_view word) {
    const size_t at = op.find(word);
    if (at == std::string_view::npos) return false;
    const std::string_view behind = op.substr(at + word.size());
    return behind.empty() || behind == "V2";
  });
}

// Puts the nodes of one graph on a task.
class Placement {
 public:
  Placement(const DeviceName& task, const VariablePlacement& spread, const std::string& file)
      : task_(task), spread_(spread), file_(file) {}

  // Throws: DataLossError.
  std::string place(std::string_view graph_def);

 private:
  void find_foreign(std::string_view graph_def);
  void add_foreign(const NodeFields& node);
  void spread_variables(const std::vector<NodeFields>& unplaced);
  void find_followers(const std::vector<NodeFields>& unplaced);
  bool is_foreign(const DeviceName& device) const { return device.job && device.job != task_.job; }
  bool follows_foreign(const NodeFields& node) const;
  std::string moved(DeviceName device) const;
  NodeFields read(std::string_view node) const {
    return read_node({node, fmt::format("{}: graph_def.node", file_)});
  }
  std::string place_node(std::string_view bytes) const;
  std::string place_node_of_function(std::string_view bytes) const;
  std::string place_library(std::string_view library) const;

  const DeviceName& task_;
  const VariablePlacement& spread_;
  const std::string& file_;
  // Names of nodes that are on other jobs or colocated with such a node; and those of them that
  // hold a resource.
  std::unordered_set<std::string_view> foreign_;
  std::unordered_set<std::string_view> foreign_holders_;
  std::map<std::string_view, std::string> devices_;  // Of spread variables.
};

void Placement::add_foreign(const NodeFields& node) {
  for (const std::string_view group : groups_of(node)) foreign_.insert(group);
  if (is_holder(node.op)) foreign_holders_.insert(node.name);
}

// Inputs are "a" or "a:1"; a control input, "^a", is not followed.
bool Placement::follows_foreign(const NodeFields& node) const {
  return std::ranges::any_of(groups_of(node),
                             [&](std::string_view group) { return foreign_.contains(group); }) ||
         std::ranges::any_of(node.inputs, [&](std::string_view input) {
           return foreign_holders_.contains(input.substr(0, input.find(':')));
         });
}

void Placement::find_foreign(std::string_view graph_def) {
  std::vector<NodeFields> unplaced;
  protozero::pbf_reader message(graph_def.data(), graph_def.size());
  while (message.next(kGraphNode, protozero::pbf_wire_type::length_delimited)) {
    NodeFields node = read(view_of(message.get_view()));
    const auto device = parse_device_name(node.device);
    if (device && is_foreign(*device))
      add_foreign(node);
    else if (device && !device->job)
      unplaced.push_back(std::move(node));
  }
  spread_variables(unplaced);
  find_followers(unplaced);
}

void Placement::spread_variables(const std::vector<NodeFields>& unplaced) {
  if (spread_.num_tasks <= 0) return;
  int next = 0;
  for (const NodeFields& node : unplaced) {
    if (!spread_.variables.contains(node.name) || follows_foreign(node)) continue;
    devices_[node.name] = task_device(spread_.job, next++ % spread_.num_tasks);
    add_foreign(node);
  }
}

// Nodes colocated with a follower are foreign, too; chains are short.
void Placement::find_followers(const std::vector<NodeFields>& unplaced) {
  for (size_t before = 0; before != foreign_.size();) {
    before = foreign_.size();
    for (const NodeFields& node : unplaced)
      if (follows_foreign(node)) add_foreign(node);
  }
}

std::string Placement::moved(DeviceName device) const {
  device.job = task_.job;
  device.task = task_.task;
  if (task_.replica) device.replica = task_.replica;
  return to_string(device);
}

// The device is written again after the other fields.
std::string with_device(std::string_view node, const std::string& device) {
  std::string result =
      copy_message(node, kNodeDevice, [](std::string_view) { return std::nullopt; });
  protozero::pbf_writer(result).add_string(kNodeDevice, device);
  return result;
}

std::string Placement::place_node(std::string_view bytes) const {
  const NodeFields node = read(bytes);
  if (const auto spread = devices_.find(node.name); spread != devices_.end())
    return with_device(bytes, spread->second);
  const auto device = parse_device_name(node.device);
  if (!device || is_foreign(*device) || (!device->job && follows_foreign(node)))
    return std::string(bytes);
  return with_device(bytes, moved(*device));
}

std::string Placement::place_node_of_function(std::string_view bytes) const {
  const auto device = parse_device_name(read(bytes).device);
  if (!device || !device->job || is_foreign(*device)) return std::string(bytes);
  return with_device(bytes, moved(*device));
}

std::string Placement::place_library(std::string_view library) const {
  return copy_message(library, kLibraryFunction, [&](std::string_view function) {
    return copy_message(function, kFunctionNode,
                        [&](std::string_view node) { return place_node_of_function(node); });
  });
}

std::string Placement::place(std::string_view graph_def) {
  try {
    find_foreign(graph_def);
    const std::string nodes_placed = copy_message(
        graph_def, kGraphNode, [&](std::string_view node) { return place_node(node); });
    return copy_message(nodes_placed, kGraphLibrary,
                        [&](std::string_view library) { return place_library(library); });
  } catch (const protozero::exception& error) {
    throw DataLossError(fmt::format("{}: damaged or not a GraphDef: {}", file_, error.what()));
  }
}

}  // namespace

DeviceName parse_task(std::string_view text) {
  const auto task = parse_device_name(text);
  if (!task || !task->job || !task->task || task->type || task->index)
    throw InvalidArgumentError(
        fmt::format("\"{}\" is not a task: expected a name such as \"/job:worker/task:1\"", text));
  return *task;
}

void check_placed_on(TF_Graph* graph, const DeviceName& task) {
  std::string other;
  for (TF_Operation* const operation : operations_of(graph)) {
    const std::string_view text = TF_OperationDevice(operation);
    const auto device = text.empty() ? std::nullopt : parse_device_name(text);
    if (!device || device->job != task.job || !device->task) continue;
    if (device->task == task.task) return;
    other = text;
  }
  if (!other.empty())
    throw FailedPreconditionError(fmt::format(
        "the graph has operations on {}, and none on {}, which this process is: import it with "
        "ImportOptions::task",
        other, to_string(task)));
}

std::string place_on_task(std::string_view graph_def, const DeviceName& task,
                          const VariablePlacement& spread, const std::string& file) {
  return Placement(task, spread, file).place(graph_def);
}

}  // namespace crochet::inline v0::tensorflow::internal
