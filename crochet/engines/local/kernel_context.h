// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "crochet/engines/local/variable_memory.h"
#include "crochet/session/output.h"

namespace crochet::local {

// Where the callable of a typed operation finds one of its parameters.
struct Argument {
  enum class Source { kInput, kVariable, kNext };
  Source source = Source::kInput;
  size_t index = 0;  // Among the operation's inputs, or the graph's variables.
};

// What an operation's callable sees of the run it is in. Valid during the call.
class KernelContext {
 public:
  // For sessions. All values of the run, where among them the inputs are, and which of
  // them are the outputs.
  KernelContext(std::span<Tensor> values, std::span<const size_t> inputs, std::span<Tensor> outputs,
                std::span<VariableMemory> variables)
      : values_(values), inputs_(inputs), outputs_(outputs), variables_(variables) {}

  // Throws: InvalidArgumentError if the operation has no such input, or output.
  const Tensor& input(size_t index) const;
  void set_output(size_t index, Tensor value);
  // The current value of an owned variable. To change it, the operation must
  // have named it in `updates`.
  Tensor& variable(const Variable& variable);
  // The memory for the next value of a variable that the operation has named in
  // `replaces`: of undefined content, all of it is to be written.
  Tensor& next(const Variable& variable);

  // For typed operations, which were checked when they were built.
  Tensor& argument(const Argument& argument) {
    switch (argument.source) {
      case Argument::Source::kInput:
        return values_[inputs_[argument.index]];
      case Argument::Source::kVariable:
        return variables_[argument.index].value();
      case Argument::Source::kNext:
        break;
    }
    return variables_[argument.index].next();
  }

 private:
  std::span<Tensor> values_;
  std::span<const size_t> inputs_;
  std::span<Tensor> outputs_;
  std::span<VariableMemory> variables_;
};

using Kernel = std::function<void(KernelContext& context)>;

}  // namespace crochet::local
