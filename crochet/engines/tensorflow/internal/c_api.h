// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <tensorflow/c/c_api.h>

// TensorFlow's C API with owning pointers for its objects, and functions that it lacks. For the
// sources of this folder: public headers only forward-declare its types.
namespace crochet::inline v0::tensorflow::internal {

template <auto kDelete>
struct Deleter {
  void operator()(auto* object) const noexcept { kDelete(object); }
};

using TensorPtr = std::unique_ptr<TF_Tensor, Deleter<TF_DeleteTensor>>;
using BufferPtr = std::unique_ptr<TF_Buffer, Deleter<TF_DeleteBuffer>>;
using DeviceListPtr = std::unique_ptr<TF_DeviceList, Deleter<TF_DeleteDeviceList>>;
using FunctionPtr = std::unique_ptr<TF_Function, Deleter<TF_DeleteFunction>>;
using GraphPtr = std::unique_ptr<TF_Graph, Deleter<TF_DeleteGraph>>;
using SessionOptionsPtr = std::unique_ptr<TF_SessionOptions, Deleter<TF_DeleteSessionOptions>>;
using ImportOptionsPtr =
    std::unique_ptr<TF_ImportGraphDefOptions, Deleter<TF_DeleteImportGraphDefOptions>>;

inline std::string_view view_of(const TF_Buffer& buffer) {
  return {static_cast<const char*>(buffer.data), buffer.length};
}

inline bool is_same(const TF_Output& a, const TF_Output& b) {
  return a.oper == b.oper && a.index == b.index;
}

// Reference types have the numbers of the other types plus this. These are not values of
// TF_DataType, although the C API returns them as such: only int may hold them.
inline constexpr int kReferenceTypes = 100;
inline int type_number(TF_Output output) { return TF_OperationOutputType(output); }
inline int type_number(TF_Input input) { return TF_OperationInputType(input); }
inline bool is_reference(int type) { return type > kReferenceTypes; }
inline bool is_reference(TF_Output output) { return is_reference(type_number(output)); }

inline bool is_one_of(std::string_view type, const auto& types) {
  return std::ranges::find(types, type) != std::ranges::end(types);
}

// All operations of a graph.
inline std::vector<TF_Operation*> operations_of(TF_Graph* graph) {
  std::vector<TF_Operation*> operations;
  size_t position = 0;
  while (TF_Operation* const operation = TF_GraphNextOperation(graph, &position))
    operations.push_back(operation);
  return operations;
}

inline std::vector<TF_Operation*> control_inputs_of(TF_Operation* operation) {
  std::vector<TF_Operation*> before(static_cast<size_t>(TF_OperationNumControlInputs(operation)));
  TF_OperationGetControlInputs(operation, before.data(), static_cast<int>(before.size()));
  return before;
}

// The direct predecessors of an operation: those whose values it uses, and its control inputs.
inline std::vector<TF_Operation*> operations_before(TF_Operation* operation) {
  std::vector<TF_Operation*> before = control_inputs_of(operation);
  for (int i = 0; i < TF_OperationNumInputs(operation); ++i)
    before.push_back(TF_OperationInput({operation, i}).oper);
  return before;
}

// All operations that a run of `roots` runs, including these.
inline std::vector<TF_Operation*> operations_run_by(std::vector<TF_Operation*> roots) {
  std::unordered_set<TF_Operation*> seen(roots.begin(), roots.end());
  for (size_t i = 0; i < roots.size(); ++i)
    for (TF_Operation* const one : operations_before(roots[i]))
      if (seen.insert(one).second) roots.push_back(one);
  return roots;
}

// Adds an operation, and all that it depends on by values.
inline void add_with_sources(TF_Operation* operation, std::unordered_set<TF_Operation*>& all) {
  std::vector<TF_Operation*> rest = {operation};
  while (!rest.empty()) {
    TF_Operation* const one = rest.back();
    rest.pop_back();
    if (!all.insert(one).second) continue;
    for (int i = 0; i < TF_OperationNumInputs(one); ++i)
      rest.push_back(TF_OperationInput({one, i}).oper);
  }
}

}  // namespace crochet::inline v0::tensorflow::internal
