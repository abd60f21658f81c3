// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "crochet/engines/tensorflow/internal/c_api.h"
#include "crochet/engines/tensorflow/internal/status.h"

namespace crochet::inline v0::tensorflow::internal {

// The OpDef of a type of operations; null for an unknown one.
inline BufferPtr op_def(TF_Graph* graph, const std::string& type) {
  BufferPtr definition(TF_NewBuffer());
  Status status;
  TF_GraphGetOpDef(graph, type.c_str(), definition.get(), status.get());
  if (!status.ok()) definition.reset();
  return definition;
}

inline BufferPtr function_def(TF_Function* function) {
  BufferPtr definition(TF_NewBuffer());
  Status status;
  TF_FunctionToFunctionDef(function, definition.get(), status.get());
  status.check(fmt::format("function \"{}\"", TF_FunctionName(function)));
  return definition;
}

// `what` is used in messages.
inline BufferPtr graph_def(TF_Graph* graph, std::string_view what) {
  BufferPtr definition(TF_NewBuffer());
  Status status;
  TF_GraphToGraphDef(graph, definition.get(), status.get());
  status.check(what);
  return definition;
}

inline std::vector<FunctionPtr> functions_of(TF_Graph* graph) {
  std::vector<TF_Function*> found(static_cast<size_t>(TF_GraphNumFunctions(graph)));
  Status status;
  const int count =
      TF_GraphGetFunctions(graph, found.data(), static_cast<int>(found.size()), status.get());
  status.check("the functions of a graph");
  std::vector<FunctionPtr> functions;
  for (int i = 0; i < count; ++i) functions.emplace_back(found[static_cast<size_t>(i)]);
  return functions;
}

}  // namespace crochet::inline v0::tensorflow::internal
