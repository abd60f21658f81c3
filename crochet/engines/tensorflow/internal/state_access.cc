// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/state_access.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "crochet/engines/tensorflow/internal/c_api.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

// Types that pass on their first input, a reference or a handle.
bool is_forwarding(std::string_view type) {
  static constexpr std::array<std::string_view, 13> kTypes = {
      "Identity",   "Enter",    "Exit",    "Switch",    "Merge",    "NextIteration",
      "IdentityN",  "RefEnter", "RefExit", "RefSwitch", "RefMerge", "RefNextIteration",
      "RefIdentity"};
  return is_one_of(type, kTypes);
}

bool is_reading(std::string_view type) {
  static constexpr std::array<std::string_view, 6> kTypes = {
      "ReadVariableOp", "VarIsInitializedOp", "IsVariableInitialized",
      "VariableShape",  "ResourceGather",     "ResourceGatherNd"};
  return is_one_of(type, kTypes) || is_forwarding(type);
}

// The operation from which a reference or handle originates.
TF_Operation* origin(TF_Output output) {
  while (is_forwarding(TF_OperationOpType(output.oper)) && TF_OperationNumInputs(output.oper) > 0) {
    // The second input of a loop's Merge leads back to the start, so it is not followed.
    const bool is_list = std::string_view(TF_OperationOpType(output.oper)) == "IdentityN";
    output = TF_OperationInput({output.oper, is_list ? output.index : 0});
  }
  return output.oper;
}

bool changes(TF_Operation* operation, const std::unordered_set<TF_Operation*>& variables) {
  if (is_reading(TF_OperationOpType(operation))) return false;
  for (int i = 0; i < TF_OperationNumInputs(operation); ++i) {
    const int type = type_number(TF_Input{operation, i});
    if (!is_reference(type) && type != TF_RESOURCE) continue;
    if (variables.contains(origin(TF_OperationInput({operation, i})))) return true;
  }
  return false;
}

}  // namespace

bool changes_state(std::span<TF_Operation* const> roots,
                   const std::unordered_set<TF_Operation*>& variables) {
  return std::ranges::any_of(
      operations_run_by({roots.begin(), roots.end()}),
      [&](TF_Operation* operation) { return changes(operation, variables); });
}

}  // namespace crochet::inline v0::tensorflow::internal
