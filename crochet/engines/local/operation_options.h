// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "crochet/engines/local/kernel_context.h"
#include "crochet/engines/local/tensor_spec.h"
#include "crochet/session/output.h"

namespace crochet::inline v0::local {

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
