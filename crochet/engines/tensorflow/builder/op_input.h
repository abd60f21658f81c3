// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/session/output.h"

namespace crochet::inline v0::tensorflow {

// An input of an operation: a value, or a list of values if the operation takes a list.
//
//   build.op("MatMul", "product", {images, weights});   // Two values.
//   build.op("Pack", "packed", {{a, b, c}});            // One list of three.
class CROCHET_EXPORT OpInput {
 public:
  OpInput(Output output) : OpInput(output, Variable()) {}
  // The only output of the operation. Throws: InvalidArgumentError if it has none, or several.
  OpInput(const Operation& operation) : OpInput(static_cast<Output>(operation)) {}
  // The variable's value. Throws: as GraphBuilder::value() does.
  OpInput(const Variable& variable);
  // A list. Throws: InvalidArgumentError if it contains a list.
  OpInput(std::initializer_list<OpInput> list);
  OpInput(const std::vector<Output>& list);

  bool is_list() const { return is_list_; }
  const std::vector<Output>& outputs() const { return outputs_; }  // One, unless it is a list.
  // Set if it was constructed from a variable.
  const Variable& variable() const { return variable_; }

 private:
  OpInput(Output output, Variable variable);

  bool is_list_ = false;
  std::vector<Output> outputs_;
  Variable variable_;
};

}  // namespace crochet::inline v0::tensorflow
