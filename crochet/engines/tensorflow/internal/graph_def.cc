// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/graph_def.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/cluster_spec.h"
#include "crochet/engines/tensorflow/internal/graph_def_fields.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

struct NodeDef : NodeFields {
  std::string_view bytes;
};

// A GraphDef: its nodes, and all other fields unchanged.
struct ParsedGraph {
  std::vector<NodeDef> nodes;
  std::string rest;
};

ParsedGraph read_graph(std::string_view graph_def, const std::string& file) {
  ParsedGraph graph;
  try {
    graph.rest = copy_message(graph_def, kGraphNode, [&](std::string_view node) {
      std::string place = fmt::format("{}: graph_def.node[{}]", file, graph.nodes.size());
      graph.nodes.push_back({read_node({node, std::move(place)}), node});
      return std::nullopt;
    });
  } catch (const protozero::exception& error) {
    throw DataLossError(fmt::format("{}: damaged or not a GraphDef: {}", file, error.what()));
  }
  return graph;
}

// TensorFlow would accept them, and fail in the first run.
void check_needs_no_python(std::string_view type, std::string_view operation,
                           const std::string& file) {
  constexpr std::array<std::string_view, 3> kPython = {"PyFunc", "PyFuncStateless", "EagerPyFunc"};
  if (std::ranges::find(kPython, type) == kPython.end()) return;
  throw UnimplementedError(fmt::format(
      "{}: operation \"{}\" ({}) calls a function of the Python program that built the graph, "
      "which is not available: build it from TensorFlow's operations",
      file, operation, type));
}

void check_functions(std::string_view rest_of_graph, const std::string& file) {
  const auto check_node = [&](ProtoReader& value) {
    const NodeFields node = read_node({value.view(), file});
    check_needs_no_python(node.op, node.name, file);
  };
  ProtoReader(rest_of_graph, file)
      .read(message_at(kGraphLibrary, "library", [&](ProtoReader library) {
        library.read(message_at(kLibraryFunction, "function", [&](ProtoReader function) {
          function.read(bytes_at(kFunctionNode, check_node));
        }));
      }));
}

void check_nodes(const std::vector<NodeDef>& nodes, const std::string& file) {
  const NodeDef* nameless = nullptr;
  for (const NodeDef& node : nodes) {
    check_needs_no_python(node.op, node.name, file);
    if (!is_legal_operation_name(node.name))
      throw InvalidArgumentError(
          fmt::format("{}: \"{}\" is not a valid name for an operation", file, node.name));
    if (!is_legal_device(node.device))
      throw InvalidArgumentError(fmt::format("{}: \"{}\" of operation \"{}\" is not a device", file,
                                             node.device, node.name));
    if (node.op != "VarHandleOp" || !node.shared_name().empty()) continue;
    if (nameless != nullptr)
      throw InvalidArgumentError(fmt::format(
          "{}: the variables \"{}\" and \"{}\" have no shared_name: they would be the same", file,
          nameless->name, node.name));
    nameless = &node;
  }
}

bool has_input(const NodeDef& node, std::string_view input) {
  return std::ranges::find(node.inputs, input) != node.inputs.end();
}

bool adds_to(const NodeDef& node, std::string_view variable) {
  if (!is_adding(node.op) || node.inputs.empty()) return false;
  const std::string_view input = node.inputs.front();
  return input == variable || input == fmt::format("{}:0", variable);
}

void add_attr(protozero::pbf_writer& node, const char* name, std::string_view value) {
  protozero::pbf_writer entry(node, kNodeAttr);
  entry.add_string(1, name);
  entry.add_message(2, value.data(), value.size());
}

// On the variable's device, whatever that is.
void add_colocation(protozero::pbf_writer& node, std::string_view with) {
  std::string value;
  {
    protozero::pbf_writer attribute(value);
    protozero::pbf_writer list(attribute, kAttrList);
    list.add_string(kListString, fmt::format("loc:@{}", with));
  }
  add_attr(node, "_class", value);
}

// True if the node that make_step_read() makes exists, as in a graph that was built here.
bool has_step_read(const std::vector<NodeDef>& nodes, std::string_view global_step,
                   const std::string& file) {
  const auto read = std::ranges::find(nodes, kGlobalStepNode, &NodeDef::name);
  if (read == nodes.end()) return false;
  if ((read->op != "ReadVariableOp" && read->op != "DeepCopy") || global_step.empty() ||
      !has_input(*read, global_step))
    throw InvalidArgumentError(
        fmt::format("{}: operation \"{}\" does not read the global step", file, kGlobalStepNode));
  return true;
}

bool is_variable(const NodeDef& node) {
  return node.op == "VarHandleOp" || node.op == "VariableV2" || node.op == "Variable";
}

std::string make_step_read(const NodeDef& variable) {
  const bool is_resource = variable.op == "VarHandleOp";
  std::string bytes;
  protozero::pbf_writer node(bytes);
  node.add_string(kNodeName, kGlobalStepNode.data(), kGlobalStepNode.size());
  // Identity of a reference would share its memory and so return the value after the run.
  node.add_string(kNodeOp, is_resource ? "ReadVariableOp" : "DeepCopy");
  node.add_string(kNodeInput, variable.name.data(), variable.name.size());
  if (!variable.device.empty())
    node.add_string(kNodeDevice, variable.device.data(), variable.device.size());
  add_attr(node, is_resource ? "dtype" : "T", variable.attribute("dtype"));
  add_colocation(node, variable.name);
  return bytes;
}

}  // namespace

bool is_legal_operation_name(std::string_view name) {
  if (name.empty()) return false;
  // TensorFlow's own nodes may begin with "_".
  if (!is_letter(name.front()) && !is_digit(name.front()) && name.front() != '.' &&
      name.front() != '_')
    return false;
  return std::ranges::all_of(name, [](char c) {
    return is_letter(c) || is_digit(c) ||
           std::string_view("_.\\-/>").find(c) != std::string_view::npos;
  });
}

bool is_legal_device(std::string_view device) { return parse_device_name(device).has_value(); }

bool is_adding(std::string_view type) {
  constexpr std::array<std::string_view, 4> kAdding = {"AssignAddVariableOp", "AssignSubVariableOp",
                                                       "AssignAdd", "AssignSub"};
  return std::ranges::find(kAdding, type) != kAdding.end();
}

std::string prepare_graph_def(std::string_view graph_def, std::string_view global_step,
                              const std::string& file) {
  ParsedGraph graph = read_graph(graph_def, file);
  check_nodes(graph.nodes, file);
  check_functions(graph.rest, file);
  const auto variable = std::ranges::find_if(graph.nodes, [&](const NodeDef& node) {
    return !global_step.empty() && node.name == global_step && is_variable(node);
  });
  const bool is_read = has_step_read(graph.nodes, global_step, file);
  const std::string wait = fmt::format("^{}", kGlobalStepNode);
  std::string result;
  protozero::pbf_writer message(result);
  for (const NodeDef& node : graph.nodes) {
    std::string bytes(node.bytes);
    if (variable != graph.nodes.end() && adds_to(node, global_step) && !has_input(node, wait))
      protozero::pbf_writer(bytes).add_string(kNodeInput, wait);
    message.add_message(kGraphNode, bytes);
  }
  if (variable != graph.nodes.end() && !is_read)
    message.add_message(kGraphNode, make_step_read(*variable));
  result += graph.rest;
  return result;
}

}  // namespace crochet::inline v0::tensorflow::internal
