// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/task_placement.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/c_api.h"
#include "crochet/engines/tensorflow/cluster_spec.h"
#include "crochet/engines/tensorflow/graph_def_fields.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

constexpr std::string_view kColocation = "loc:@";

// The placement of one node, and the nodes it is colocated with.
struct Place {
  std::string_view name = {};
  std::string_view op = {};
  std::string_view device = {};
  std::vector<std::string_view> inputs = {};  // Names of nodes whose outputs it takes.
  std::vector<std::string_view> groups = {};  // Names of nodes, including its own.
};

// The strings in an attribute `_class`, without "loc:@".
void read_groups(const MapEntry& entry, std::vector<std::string_view>& groups) {
  if (entry.key != "_class") return;
  std::vector<std::string_view> strings;
  ProtoReader(entry.value, "attr").read(message_at(kAttrList, "list", [&](ProtoReader list) {
    list.read(texts_at(kListString, strings));
  }));
  for (const std::string_view text : strings)
    if (text.starts_with(kColocation)) groups.push_back(text.substr(kColocation.size()));
}

// Adds "a" for "a:1"; nothing for "^a".
void add_input(std::string_view input, std::vector<std::string_view>& inputs) {
  if (!input.starts_with('^')) inputs.push_back(input.substr(0, input.find(':')));
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

Place read_place(std::string_view bytes, const std::string& file) {
  const NodeFields node = read_node({bytes, fmt::format("{}: graph_def.node", file)});
  Place place = {.name = node.name, .op = node.op, .device = node.device};
  for (const std::string_view input : node.inputs) add_input(input, place.inputs);
  for (const MapEntry& entry : node.attributes) read_groups(entry, place.groups);
  place.groups.push_back(place.name);
  return place;
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
  void add_foreign(const Place& place);
  void spread_variables(const std::vector<Place>& unplaced);
  void find_followers(const std::vector<Place>& unplaced);
  bool is_foreign(const DeviceName& device) const { return device.job && device.job != task_.job; }
  bool follows_foreign(const Place& place) const;
  std::string moved(const DeviceName& device) const;
  std::string place_node(std::string_view node) const;
  std::string place_node_of_function(std::string_view node) const;
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

void Placement::add_foreign(const Place& place) {
  foreign_.insert(place.groups.begin(), place.groups.end());
  if (is_holder(place.op)) foreign_holders_.insert(place.name);
}

bool Placement::follows_foreign(const Place& place) const {
  return std::ranges::any_of(place.groups,
                             [&](std::string_view group) { return foreign_.contains(group); }) ||
         std::ranges::any_of(place.inputs, [&](std::string_view input) {
           return foreign_holders_.contains(input);
         });
}

void Placement::find_foreign(std::string_view graph_def) {
  std::vector<Place> unplaced;
  protozero::pbf_reader message(graph_def.data(), graph_def.size());
  while (message.next(kGraphNode, protozero::pbf_wire_type::length_delimited)) {
    Place place = read_place(view_of(message.get_view()), file_);
    const auto device = parse_device_name(place.device);
    if (device && is_foreign(*device))
      add_foreign(place);
    else if (device && !device->job)
      unplaced.push_back(std::move(place));
  }
  spread_variables(unplaced);
  find_followers(unplaced);
}

void Placement::spread_variables(const std::vector<Place>& unplaced) {
  if (spread_.num_tasks <= 0) return;
  int next = 0;
  for (const Place& place : unplaced) {
    if (!spread_.variables.contains(place.name) || follows_foreign(place)) continue;
    devices_[place.name] = task_device(spread_.job, next++ % spread_.num_tasks);
    add_foreign(place);
  }
}

// Nodes colocated with a follower are foreign, too; chains are short.
void Placement::find_followers(const std::vector<Place>& unplaced) {
  for (size_t before = 0; before != foreign_.size();) {
    before = foreign_.size();
    for (const Place& place : unplaced)
      if (follows_foreign(place)) add_foreign(place);
  }
}

std::string Placement::moved(const DeviceName& device) const {
  DeviceName result = device;
  result.job = task_.job;
  result.task = task_.task;
  if (task_.replica) result.replica = task_.replica;
  return to_string(result);
}

// The device is written again after the other fields.
std::string with_device(std::string_view node, const std::string& device) {
  std::string result =
      copy_message(node, kNodeDevice, [](protozero::pbf_writer&, std::string_view) {});
  protozero::pbf_writer(result).add_string(kNodeDevice, device);
  return result;
}

std::string Placement::place_node(std::string_view node) const {
  const Place place = read_place(node, file_);
  if (const auto spread = devices_.find(place.name); spread != devices_.end())
    return with_device(node, spread->second);
  const auto device = parse_device_name(place.device);
  if (!device || is_foreign(*device) || (!device->job && follows_foreign(place)))
    return std::string(node);
  return with_device(node, moved(*device));
}

std::string Placement::place_node_of_function(std::string_view node) const {
  const auto device = parse_device_name(read_place(node, file_).device);
  if (!device || !device->job || is_foreign(*device)) return std::string(node);
  return with_device(node, moved(*device));
}

std::string Placement::place_library(std::string_view library) const {
  return copy_message(
      library, kLibraryFunction, [&](protozero::pbf_writer& functions, std::string_view function) {
        functions.add_message(
            kLibraryFunction,
            copy_message(function, kFunctionNode,
                         [&](protozero::pbf_writer& nodes, std::string_view node) {
                           nodes.add_message(kFunctionNode, place_node_of_function(node));
                         }));
      });
}

std::string Placement::place(std::string_view graph_def) {
  try {
    find_foreign(graph_def);
    const std::string nodes_placed = copy_message(
        graph_def, kGraphNode, [&](protozero::pbf_writer& graph, std::string_view node) {
          graph.add_message(kGraphNode, place_node(node));
        });
    return copy_message(nodes_placed, kGraphLibrary,
                        [&](protozero::pbf_writer& graph, std::string_view library) {
                          graph.add_message(kGraphLibrary, place_library(library));
                        });
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
