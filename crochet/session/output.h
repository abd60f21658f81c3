// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/tensor/dtype.h"
#include "crochet/tensor/shape.h"

namespace crochet::inline v0 {

class Graph;

// What every engine stores about an operation; engines derive from it and own it.
// Exists, at one address, as long as its graph.
struct OperationInfo {
  const Graph* graph = nullptr;
  std::string name;  // "dense/matmul"; unique in its graph.
  int num_outputs = 0;
};

// One output of an operation, or the operation itself if its value is not needed.
// A small value: valid as long as the graph, equal if operation and index are equal.
class CROCHET_EXPORT Output {
 public:
  // Unset; false in a condition.
  Output() = default;
  Output(const OperationInfo* operation, int index) : operation_(operation), index_(index) {}

  // The index that means: run the operation, no value is needed.
  static constexpr int kNoValue = -1;

  explicit operator bool() const { return operation_ != nullptr; }
  const OperationInfo* operation() const { return operation_; }
  int index() const { return index_; }
  bool has_value() const { return index_ >= 0; }
  const Graph* graph() const { return operation_ == nullptr ? nullptr : operation_->graph; }

  friend bool operator==(const Output&, const Output&) = default;

 private:
  const OperationInfo* operation_ = nullptr;
  int index_ = kNoValue;
};

// "loss:0"; "train" for an operation without a value; "(none)".
CROCHET_EXPORT std::string to_string(const Output& output);

// A node of a graph. Converts to the Output that runs it without a value.
class CROCHET_EXPORT Operation {
 public:
  Operation() = default;
  explicit Operation(const OperationInfo* info) : info_(info) {}

  explicit operator bool() const { return info_ != nullptr; }
  const std::string& name() const { return info_->name; }
  // Throws: InvalidArgumentError if the operation has no output of this index.
  Output output(int index) const;
  Output operator[](int index) const { return output(index); }
  operator Output() const { return Output(info_, Output::kNoValue); }

  friend bool operator==(const Operation&, const Operation&) = default;

 private:
  const OperationInfo* info_ = nullptr;
};

namespace internal {

// The output that an operation reads if given `output`: that output itself or, for an operation,
// its only output. Throws: InvalidArgumentError if the operation has none, or several.
CROCHET_EXPORT Output with_value(const Output& output);

}  // namespace internal

// What every engine stores about a variable; engines derive from it and own it.
struct VariableInfo {
  const Graph* graph = nullptr;
  std::string name;  // Its name in checkpoints: "model/w1".
  DType dtype = DType::kInvalid;
  Shape shape;  // Sizes that may change between saves are unknown.
};

// State that persists from run to run. A small value, as Output is.
class CROCHET_EXPORT Variable {
 public:
  Variable() = default;
  explicit Variable(const VariableInfo* info) : info_(info) {}

  explicit operator bool() const { return info_ != nullptr; }
  const VariableInfo* info() const { return info_; }
  const std::string& name() const { return info_->name; }
  DType dtype() const { return info_->dtype; }
  const Shape& shape() const { return info_->shape; }

  friend bool operator==(const Variable&, const Variable&) = default;

 private:
  const VariableInfo* info_ = nullptr;
};

}  // namespace crochet::inline v0

template <>
struct std::hash<crochet::Output> {
  size_t operator()(const crochet::Output& output) const noexcept {
    return std::hash<const void*>()(output.operation()) * 31 + static_cast<size_t>(output.index());
  }
};
