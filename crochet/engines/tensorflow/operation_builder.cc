// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/operation_builder.h"

#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/graph_def.h"
#include "crochet/engines/tensorflow/status.h"

namespace crochet::tensorflow::internal {
namespace {

const char* checked_name(TF_Graph* graph, const std::string& name) {
  if (!is_legal_operation_name(name))
    throw InvalidArgumentError("\"{}\" is no name for an operation", name);
  if (TF_GraphOperationByName(graph, name.c_str()) != nullptr)
    throw AlreadyExistsError("the graph already has an operation \"{}\"", name);
  return name.c_str();
}

}  // namespace

OperationBuilder::OperationBuilder(TF_Graph* graph, const char* type, std::string name)
    : name_(std::move(name)),
      description_(TF_NewOperation(graph, type, checked_name(graph, name_))) {}

OperationBuilder::~OperationBuilder() {
  if (description_ == nullptr) return;
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

OperationBuilder& OperationBuilder::type(const char* attribute, TF_DataType value) {
  TF_SetAttrType(description_, attribute, value);
  return *this;
}

OperationBuilder& OperationBuilder::tensor(const char* attribute, TF_Tensor* value) {
  Status status;
  TF_SetAttrTensor(description_, attribute, value, status.get());
  status.check(fmt::format("attribute \"{}\" of operation \"{}\"", attribute, name_));
  return *this;
}

TF_Operation* OperationBuilder::finish() {
  Status status;
  TF_Operation* const operation =
      TF_FinishOperation(std::exchange(description_, nullptr), status.get());
  status.check(fmt::format("adding operation \"{}\"", name_));
  return operation;
}

}  // namespace crochet::tensorflow::internal
