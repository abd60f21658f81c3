// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/tensor/dtype.h"
#include "crochet/tensor/shape.h"

namespace crochet::inline v0::tensorflow {

// An input of a function, with its name in the body, which begins with a letter.
struct FunctionInput {
  std::string name;
  DType dtype = DType::kInvalid;  // kResource: the handle of a variable.
  // The shape of all its values. Unset: unknown.
  std::optional<Shape> shape = {};
};

// The signature of a function.
struct FunctionInfo {
  std::string name;
  std::vector<DType> input_types;
  std::vector<DType> output_types;
};

// A named set of operations that an operation of a graph runs: a branch of If, the body of
// While. GraphBuilder::function() makes and finds functions. A small value; equal if it is the same
// function.
class CROCHET_EXPORT Function {
 public:
  // Unset; false in a condition.
  Function() = default;
  explicit Function(FunctionInfo info)
      : info_(std::make_shared<const FunctionInfo>(std::move(info))) {}

  explicit operator bool() const { return info_ != nullptr; }
  const std::string& name() const { return info_->name; }
  const std::vector<DType>& input_types() const { return info_->input_types; }
  const std::vector<DType>& output_types() const { return info_->output_types; }

  friend bool operator==(const Function&, const Function&) = default;

 private:
  std::shared_ptr<const FunctionInfo> info_;
};

}  // namespace crochet::inline v0::tensorflow
