// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "crochet/base/export.h"
#include "crochet/engines/local/internal/variable_memory.h"
#include "crochet/session/output.h"

namespace crochet::inline v0::local {

// Where the callable of a typed operation finds one of its parameters.
struct Argument {
  enum class Source { kInput, kVariable, kNext };
  Source source = Source::kInput;
  size_t index = 0;  // The value's slot in the run, or the variable's index in the graph.
};

// An operation's access to the run that calls it. Valid during the call.
class CROCHET_EXPORT KernelContext {
 public:
  // For sessions: the operation, which belongs to a local::Graph; all values of the run, with
  // the slot of its first output; and all variables.
  KernelContext(const OperationInfo& operation, std::span<Tensor> values, size_t first_output,
                std::span<internal::VariableMemory> variables)
      : operation_(operation),
        values_(values),
        outputs_(values.data() + first_output),
        variables_(variables) {}

  // Throws: InvalidArgumentError if the operation has no such input, or output.
  const Tensor& input(size_t index) const;
  void set_output(size_t index, Tensor value);
  // The current value of an owned variable. To change it, the operation must
  // list it in `updates`.
  Tensor& variable(const Variable& variable);
  // The memory for the next value of a variable that the operation lists in
  // `replaces`. Its contents are undefined; all of it must be written.
  Tensor& next(const Variable& variable);

  // For typed operations, whose arguments are known to be valid.
  Tensor& argument(const Argument& argument) {
    switch (argument.source) {
      case Argument::Source::kInput:
        return values_[argument.index];
      case Argument::Source::kVariable:
        return variables_[argument.index].value();
      case Argument::Source::kNext:
        break;
    }
    return variables_[argument.index].next();
  }
  Tensor& output(size_t index) { return outputs_[index]; }
  // Throws: InvalidArgumentError if an input does not match its spec.
  void check_inputs() const;

 private:
  const OperationInfo& operation_;
  std::span<Tensor> values_;
  Tensor* outputs_;
  std::span<internal::VariableMemory> variables_;
};

using Kernel = std::function<void(KernelContext& context)>;

}  // namespace crochet::inline v0::local
