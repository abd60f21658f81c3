// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/saver_entries.h"

#include <string_view>

#include "crochet/engines/tensorflow/internal/c_api.h"
#include "crochet/engines/tensorflow/internal/status.h"
#include "crochet/engines/tensorflow/internal/tensor_conversion.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

// The inputs of SaveV2: the prefix, the names, the slices, then the values.
constexpr int kNames = 1;
constexpr int kSlices = 2;
constexpr int kFirstValue = 3;

std::string_view type_of(TF_Operation* operation) { return TF_OperationOpType(operation); }

// The strings of a constant; unset for another operation.
std::optional<std::vector<std::string>> constant_strings(TF_Operation* operation) {
  if (type_of(operation) != "Const") return std::nullopt;
  Status status;
  TF_Tensor* value = nullptr;
  TF_OperationGetAttrTensor(operation, "value", &value, status.get());
  if (!status.ok()) return std::nullopt;
  const Tensor strings = from_tensorflow(TensorPtr(value), Sharing::kCopy);
  if (strings.dtype() != DType::kString) return std::nullopt;
  const auto all = strings.strings();
  return std::vector<std::string>(all.begin(), all.end());
}

// The operation of the variable whose value this is, unchanged; null if it is another value.
TF_Operation* variable_of(TF_Output value) {
  while (true) {
    const std::string_view type = type_of(value.oper);
    if (type == "VarHandleOp" || type == "VariableV2" || type == "Variable") return value.oper;
    if (type != "Identity" && type != "ReadVariableOp") return nullptr;
    value = TF_OperationInput({value.oper, 0});
  }
}

// False if the names are not constants.
bool add_entries(TF_Operation* save, std::vector<SaverEntry>& entries) {
  const auto names = constant_strings(TF_OperationInput({save, kNames}).oper);
  const auto slices = constant_strings(TF_OperationInput({save, kSlices}).oper);
  const int num_values = TF_OperationNumInputs(save) - kFirstValue;
  if (!names || !slices || names->size() != slices->size() ||
      names->size() != static_cast<size_t>(num_values))
    return false;
  for (int i = 0; i < num_values; ++i) {
    const auto at = static_cast<size_t>(i);
    entries.push_back({.key = (*names)[at],
                       .slice = (*slices)[at],
                       .variable = variable_of(TF_OperationInput({save, kFirstValue + i}))});
  }
  return true;
}

}  // namespace

SaverContents read_saver(TF_Operation* root) {
  SaverContents contents;
  std::vector<SaverEntry> entries;
  bool is_known = true;
  bool has_save = false;
  for (TF_Operation* const operation : operations_run_by({root})) {
    if (type_of(operation) != "SaveV2") continue;
    has_save = true;
    is_known = add_entries(operation, entries) && is_known;
    for (int i = kFirstValue; i < TF_OperationNumInputs(operation); ++i)
      add_with_sources(TF_OperationInput({operation, i}).oper, contents.sources);
  }
  // A function writes its inputs.
  if (!has_save) add_with_sources(root, contents.sources);
  if (has_save && is_known) contents.entries = std::move(entries);
  return contents;
}

}  // namespace crochet::inline v0::tensorflow::internal
