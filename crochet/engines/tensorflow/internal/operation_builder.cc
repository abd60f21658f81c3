// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/operation_builder.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/internal/attribute_setter.h"
#include "crochet/engines/tensorflow/internal/definitions.h"
#include "crochet/engines/tensorflow/internal/graph_def.h"
#include "crochet/engines/tensorflow/internal/graph_def_fields.h"
#include "crochet/engines/tensorflow/internal/status.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

// Names with a leading underscore are those of TensorFlow's own nodes, such as "_SOURCE".
const char* checked_name(TF_Graph* graph, const std::string& name) {
  if (!is_legal_operation_name(name) || name.front() == '_')
    throw InvalidArgumentError(fmt::format("\"{}\" is not a valid name for an operation", name));
  if (TF_GraphOperationByName(graph, name.c_str()) != nullptr)
    throw AlreadyExistsError(fmt::format("the graph already has an operation \"{}\"", name));
  return name.c_str();
}

// The names of the type's attributes, from its OpDef.
std::vector<std::string> attributes_of(TF_Graph* graph, const std::string& type,
                                       const std::string& name) {
  // TensorFlow itself adds these to a graph that it runs.
  if (type.starts_with('_'))
    throw InvalidArgumentError(
        fmt::format("operation \"{}\": the type \"{}\" is internal to TensorFlow", name, type));
  // TensorFlow 2.21 dereferences a null pointer if its lists have different lengths. A test of all
  // types found only this one (operation_types_test.cc).
  if (type == "XlaSparseGradientsStack")
    throw UnimplementedError(
        fmt::format("operation \"{}\": {} is for TPUs, which are not supported", name, type));
  const BufferPtr definition = op_def(graph, type);
  if (!definition)
    throw NotFoundError(
        fmt::format("operation \"{}\": TensorFlow {} has no operations of type \"{}\"", name,
                    TF_Version(), type));
  std::vector<std::string> attributes;
  ProtoReader(view_of(*definition), type)
      .read(message_at(kOpAttr, "attr",
                       [&](ProtoReader attribute) { attribute.read(texts_at(1, attributes)); }));
  return attributes;
}

}  // namespace

OperationBuilder::OperationBuilder(TF_Graph* graph, std::string type, std::string name)
    : name_(std::move(name)), type_(std::move(type)) {
  const char* const checked = checked_name(graph, name_);
  attributes_ = attributes_of(graph, type_, name_);
  description_ = TF_NewOperation(graph, type_.c_str(), checked);
}

// A description must be finished: TensorFlow has no other way to delete it. Setting an attribute
// twice makes that fail, so that no operation is added.
OperationBuilder::~OperationBuilder() {
  if (description_ == nullptr) return;
  for (const int64_t value : {0, 1}) TF_SetAttrInt(description_, "_abandoned", value);
  Status ignored;
  TF_FinishOperation(description_, ignored.get());
}

OperationBuilder& OperationBuilder::input(TF_Output output) {
  TF_AddInput(description_, output);
  return *this;
}

OperationBuilder& OperationBuilder::input_list(std::span<const TF_Output> outputs) {
  TF_AddInputList(description_, outputs.data(), static_cast<int>(outputs.size()));
  return *this;
}

OperationBuilder& OperationBuilder::control_input(TF_Operation* operation) {
  TF_AddControlInput(description_, operation);
  return *this;
}

OperationBuilder& OperationBuilder::colocate_with(TF_Operation* operation) {
  TF_ColocateWith(description_, operation);
  return *this;
}

OperationBuilder& OperationBuilder::device(const std::string& device) {
  if (!is_legal_device(device))
    throw InvalidArgumentError(
        fmt::format("operation \"{}\": \"{}\" is not a device", name_, device));
  TF_SetDevice(description_, device.c_str());
  return *this;
}

OperationBuilder& OperationBuilder::attribute(const std::string& name, const Attribute& value) {
  const std::string what = fmt::format("operation \"{}\": attribute \"{}\"", name_, name);
  if (std::ranges::find(attributes_, name) == attributes_.end())
    throw InvalidArgumentError(fmt::format("{}: {} has no such attribute; it has: {}", what, type_,
                                           fmt::join(attributes_, ", ")));
  set_attribute(description_, name.c_str(), value, what);
  return *this;
}

TF_Operation* OperationBuilder::finish() {
  Status status;
  TF_Operation* const operation =
      TF_FinishOperation(std::exchange(description_, nullptr), status.get());
  status.check(fmt::format("operation \"{}\" of type {}", name_, type_));
  return operation;
}

}  // namespace crochet::inline v0::tensorflow::internal
