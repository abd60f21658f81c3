// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/string_constants.h"

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/graph_def_fields.h"
#include "crochet/tensor/dtype.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

// MetaGraphDef.graph_def, AttrValue.tensor, and the fields of a TensorProto.
constexpr uint32_t kMetaGraphGraph = 2;
constexpr uint32_t kAttrTensor = 8;
constexpr uint32_t kTensorType = 1;
constexpr uint32_t kTensorShape = 2;
constexpr uint32_t kTensorStrings = 8;

std::string with_string(std::string_view tensor, const std::string& text) {
  std::string result;
  protozero::pbf_writer writer(result);
  writer.add_enum(kTensorType, static_cast<int32_t>(DType::kString));
  ProtoReader(tensor, "tensor").read(bytes_at(kTensorShape, [&](ProtoReader& shape) {
    writer.add_message(kTensorShape, shape.text());
  }));
  writer.add_string(kTensorStrings, text);
  return result;
}

// The entry of the attribute "value" with a new value; other entries unchanged.
std::string change_attr(std::string_view entry, const std::string& text) {
  const MapEntry found = read_map_entry({entry, "attr"});
  if (found.key != "value") return std::string(entry);
  const std::string value = copy_message(found.value, kAttrTensor,
                                         [&](protozero::pbf_writer& attr, std::string_view old) {
                                           attr.add_message(kAttrTensor, with_string(old, text));
                                         });
  std::string result;
  protozero::pbf_writer writer(result);
  writer.add_string(1, found.key);
  writer.add_message(2, value);
  return result;
}

}  // namespace

std::string with_string_constants(std::string_view meta_graph, const StringConstants& values,
                                  const std::string& name) {
  const auto change_node = [&](protozero::pbf_writer& graph, std::string_view node) {
    const NodeFields what = read_node({node, "node"});
    const auto found = values.find(std::string(what.name));
    if (found == values.end() || what.op != "Const")
      return graph.add_message(kGraphNode, node.data(), node.size());
    graph.add_message(
        kGraphNode,
        copy_message(node, kNodeAttr, [&](protozero::pbf_writer& writer, std::string_view entry) {
          writer.add_message(kNodeAttr, change_attr(entry, found->second));
        }));
  };
  try {
    return copy_message(
        meta_graph, kMetaGraphGraph, [&](protozero::pbf_writer& writer, std::string_view graph) {
          writer.add_message(kMetaGraphGraph, copy_message(graph, kGraphNode, change_node));
        });
  } catch (const protozero::exception& error) {
    throw DataLossError(fmt::format("{}: damaged or not a GraphDef: {}", name, error.what()));
  }
}

}  // namespace crochet::inline v0::tensorflow::internal
