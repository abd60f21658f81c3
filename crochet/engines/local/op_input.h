// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/session/output.h"

namespace crochet::local {

class Graph;
class OpInput;

// A variable whose memory belongs to the sessions of a local graph, each of which has its own.
class OwnedVariable : public Variable {
 public:
  OwnedVariable() = default;

  // The callable gets the value to change in place. A snapshot that still holds it costs a copy.
  friend OpInput update(const OwnedVariable& variable);
  // The callable gets two parameters: the value to read, and the memory of the next one, of
  // undefined content, to write all of. A snapshot never costs a copy, and if
  // the callable throws, the variable stays as it is.
  friend OpInput replace(const OwnedVariable& variable);

 private:
  friend class Graph;
  explicit OwnedVariable(const VariableInfo* info) : Variable(info) {}
};

// Something that a typed operation is given: a value, or a variable and what is done with it.
class OpInput {
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
  Output output_;      // Of kValue.
  Variable variable_;  // Of the others.
};

inline OpInput update(const OwnedVariable& variable) { return {variable, OpInput::Use::kUpdate}; }
inline OpInput replace(const OwnedVariable& variable) { return {variable, OpInput::Use::kReplace}; }

// `gradients:1`, `variable "weights"`.
std::string to_string(const OpInput& input);

}  // namespace crochet::local
