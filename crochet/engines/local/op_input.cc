// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/op_input.h"

#include "crochet/base/error.h"

namespace crochet::local {
namespace {

Output only_output(const OperationInfo* info) {
  if (info == nullptr) return Output();
  if (info->num_outputs != 1)
    throw InvalidArgumentError(
        "\"{}\" as an input: the operation has {} outputs; say which one, as in {}[0]", info->name,
        info->num_outputs, info->name);
  return Output(info, 0);
}

}  // namespace

OpInput::OpInput(const Operation& operation)
    : output_(only_output(static_cast<Output>(operation).operation())) {}

std::string to_string(const OpInput& input) {
  if (input.use() == OpInput::Use::kValue) return to_string(input.output());
  return input.variable() ? fmt::format("variable \"{}\"", input.variable().name())
                          : "an unset variable";
}

}  // namespace crochet::local
