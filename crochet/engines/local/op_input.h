// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/base/export.h"
#include "crochet/session/output.h"

namespace crochet::inline v0::local {

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

}  // namespace crochet::inline v0::local
