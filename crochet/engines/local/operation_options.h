// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/engines/local/internal/variable_memory.h"
#include "crochet/session/output.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::local {

// What is known about a value before it is computed. By default nothing.
struct CROCHET_EXPORT TensorSpec {
  static constexpr int64_t kAnyNumber = -1;

  DType dtype = DType::kInvalid;    // kInvalid: any type.
  std::optional<Shape> shape = {};  // Unset: any shape. Sizes may be unknown.
  int64_t num_elements = kAnyNumber;

  // False if no value can match both.
  bool agrees_with(const TensorSpec& other) const;
  // True if the value matches. An unset value matches only if nothing is known.
  bool admits(const Tensor& value) const {
    if (dtype == DType::kInvalid) return true;
    return value.dtype() == dtype && (!shape || shape->is_compatible_with(value.shape())) &&
           (num_elements == kAnyNumber || num_elements == value.num_elements());
  }

  // The spec of a value of exactly this type and shape.
  static TensorSpec of(DType dtype, Shape shape) { return {dtype, std::move(shape)}; }
};

// "float32 [?,64]"; "float32 with 3 elements", "one float32", "float32 of any shape", "any tensor".
CROCHET_EXPORT std::string to_string(const TensorSpec& spec);

class Graph;
class OpInput;

// A variable of which each session of a local graph has its own value and memory.
class CROCHET_EXPORT OwnedVariable : public Variable {
 public:
  OwnedVariable() = default;

  // The callable changes the value in place. If a snapshot still holds it, it is copied first.
  friend CROCHET_EXPORT OpInput update(const OwnedVariable& variable);
  // The callable gets two parameters: the value to read, and the memory of the next value, with
  // undefined contents, all of which it must write. A snapshot never costs a copy, and if
  // the callable throws, the variable is unchanged.
  friend CROCHET_EXPORT OpInput replace(const OwnedVariable& variable);

 private:
  friend class Graph;
  explicit OwnedVariable(const VariableInfo* info) : Variable(info) {}
};

// An input of a typed operation: a value, or a variable and its use.
class CROCHET_EXPORT OpInput {
 public:
  enum class Use { kValue, kRead, kUpdate, kReplace };

  OpInput(Output output) : output_(output) {}
  // The only output of the operation. Throws: InvalidArgumentError if it has none, or several.
  OpInput(const Operation& operation);
  // The variable's value, to read.
  OpInput(const OwnedVariable& variable) : OpInput(variable, Use::kRead) {}
  OpInput(const OwnedVariable& variable, Use use) : use_(use), variable_(variable) {}

  Use use() const { return use_; }
  const Output& output() const { return output_; }
  const Variable& variable() const { return variable_; }

 private:
  Use use_ = Use::kValue;
  Output output_;      // For kValue.
  Variable variable_;  // For the others.
};

inline OpInput update(const OwnedVariable& variable) { return {variable, OpInput::Use::kUpdate}; }
inline OpInput replace(const OwnedVariable& variable) { return {variable, OpInput::Use::kReplace}; }

// `gradients:1`, `variable "weights"`.
CROCHET_EXPORT std::string to_string(const OpInput& input);

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

// One operation. Within a run its callable is called at most once.
struct OperationOptions {
  std::string name;
  // Its input values, in this order.
  std::vector<Output> inputs = {};
  // The specs of the inputs, checked when the operation is added and in each run before the
  // kernel is called. Empty, or one for each input.
  std::vector<TensorSpec> input_specs = {};
  int num_outputs = 0;
  // The specs of the outputs, checked if they are fed. Empty, or one for each output.
  std::vector<TensorSpec> output_specs = {};
  // Operations that must run before it; a run of this operation runs those too.
  std::vector<Output> control_inputs = {};
  // Operations that must run before it if they are in the same run; never pulled in.
  std::vector<Output> after = {};
  // Owned variables it reads; others update them only after it, unless it depends on those.
  std::vector<Variable> reads = {};
  // Owned variables it changes in place.
  std::vector<Variable> updates = {};
  // Owned variables whose next value it writes to other memory; if it fails, they are unchanged.
  std::vector<Variable> replaces = {};
  // True if it changes borrowed arrays: then it waits until a snapshot has copied those without a
  // WriteBarrier.
  bool changes_borrowed = false;
  // True if it has changed nothing when it throws OutOfRangeError or StopIteration, so that
  // the state may still be saved.
  bool intact_at_end_of_input = false;
  // True if it has changed nothing whatever it throws.
  bool intact_on_error = false;
  // True if several threads may call it at once. A run of only such operations that change nothing
  // overlaps with others of that kind; if it reads no variable, with any run. close() waits for it.
  bool concurrent = false;
  // True if the kernel itself calls KernelContext::check_inputs() if an input does not match: then
  // the session checks the inputs only if the operation changes state.
  bool kernel_checks_inputs = false;
  Kernel kernel = {};  // Empty: it only groups its control inputs.

  // Kept with the operation: objects that the kernel refers to.
  std::shared_ptr<void> owned = {};

  bool changes_in_place() const { return changes_borrowed || !updates.empty(); }
  bool changes_state() const { return changes_in_place() || !replaces.empty(); }
};

// The options of a typed operation, other than its inputs and its callable; see above.
struct OpOptions {
  std::vector<Output> control_inputs = {};
  std::vector<Output> after = {};
  bool changes_borrowed = false;
  bool intact_at_end_of_input = false;
  bool concurrent = false;
};

}  // namespace crochet::inline v0::local
