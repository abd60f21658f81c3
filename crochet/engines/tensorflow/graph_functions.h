// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "crochet/engines/tensorflow/c_api.h"
#include "crochet/engines/tensorflow/status.h"

namespace crochet::inline v0::tensorflow::internal {

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
