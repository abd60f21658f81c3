// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/tensor/tensor.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0::internal {

// Checks the tensors added to a checkpoint of any format: their names, and the slices of tensors
// that are added in parts.
//
// The names of whole tensors are kept by the writer, which has a map of them anyway.
class AddedTensors {
 public:
  // A tensor that is added in slices.
  struct Partitioned {
    DType dtype;
    Shape shape;
    std::vector<TensorSlice> slices = {};    // As passed by the caller.
    std::vector<TensorSlice> resolved = {};  // The same slices, resolved.
  };

  // `prefix` is used in errors.
  explicit AddedTensors(std::string prefix) : prefix_(std::move(prefix)) {}

  // Throws: InvalidArgumentError for a name that is empty or starts with a zero byte.
  void check_name(std::string_view name) const;
  // Throws: InvalidArgumentError for a tensor that is unset.
  void check_set(std::string_view name, const Tensor& tensor) const;
  // Throws: InvalidArgumentError.
  [[noreturn]] void throw_added_before(std::string_view name) const;

  // Returns true and records the slice if it is a part of the tensor; returns false if it is all of
  // it, which the caller must then add as a whole. `is_taken`: a whole tensor has this name.
  // Throws: InvalidArgumentError for a slice that reaches outside, overlaps another one or does not
  // match the tensor's shape, if type or full shape differ from those of earlier slices, and for
  // a name that is taken.
  bool add_slice(std::string_view name, const Shape& full_shape, const TensorSlice& slice,
                 const Tensor& tensor, bool is_taken);
  bool is_partitioned(std::string_view name) const { return partitioned_.contains(name); }
  const std::map<std::string, Partitioned, std::less<>>& partitioned() const {
    return partitioned_;
  }

 private:
  const std::string prefix_;
  std::map<std::string, Partitioned, std::less<>> partitioned_;
};

}  // namespace crochet::inline v0::internal
