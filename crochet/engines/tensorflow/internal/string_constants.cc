// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/string_constants.h"

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/internal/graph_def_fields.h"
#include "crochet/tensor/dtype.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

// MetaGraphDef.graph_def, the value in an entry of a map, AttrValue.tensor, and the fields of a
// TensorProto.
constexpr uint32_t kMetaGraphGraph = 2;
constexpr uint32_t kEntryValue = 2;
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
  if (read_map_entry({entry, "attr"}).key != "value") return std::string(entry);
  return copy_message(entry, kEntryValue, [&](std::string_view value) {
    return copy_message(value, kAttrTensor,
                        [&](std::string_view tensor) { return with_string(tensor, text); });
  });
}

}  // namespace

std::string with_string_constants(std::string_view meta_graph, const StringConstants& values,
                                  const std::string& name) {
  const auto change_node = [&](std::string_view node) {
    const NodeFields what = read_node({node, "node"});
    const auto found = values.find(what.name);
    if (found == values.end() || what.op != "Const") return std::string(node);
    return copy_message(node, kNodeAttr,
                        [&](std::string_view entry) { return change_attr(entry, found->second); });
  };
  try {
    return copy_message(meta_graph, kMetaGraphGraph, [&](std::string_view graph) {
      return copy_message(graph, kGraphNode, change_node);
    });
  } catch (const protozero::exception& error) {
    throw DataLossError(fmt::format("{}: damaged or not a GraphDef: {}", name, error.what()));
  }
}

}  // namespace crochet::inline v0::tensorflow::internal
