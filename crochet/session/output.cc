// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/output.h"

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0 {

std::string to_string(const Output& output) {
  if (!output) return "(none)";
  if (!output.has_value()) return output.operation()->name;
  return fmt::format("{}:{}", output.operation()->name, output.index());
}

Output Operation::output(int index) const {
  if (index < 0 || index >= info_->num_outputs)
    throw InvalidArgumentError(fmt::format("operation \"{}\": output {} of {} does not exist",
                                           info_->name, index, info_->num_outputs));
  return Output(info_, index);
}

Output internal::with_value(const Output& output) {
  const OperationInfo* const info = output.operation();
  if (info == nullptr || output.has_value()) return output;
  if (info->num_outputs != 1)
    throw InvalidArgumentError(
        fmt::format("\"{}\" as an input: the operation has {} outputs; choose one, as in {}[0]",
                    info->name, info->num_outputs, info->name));
  return Output(info, 0);
}

}  // namespace crochet::inline v0
