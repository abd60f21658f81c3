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

namespace crochet::internal {

// What of the tensors that are added to a checkpoint must agree, whatever its format: their names,
// and the slices of those that are added in parts.
//
// The names of whole tensors are the writer's to keep: it has them in a map already.
class AddedTensors {
 public:
  // A tensor that is added in slices.
  struct Partitioned {
    DType dtype;
    Shape shape;
    std::vector<TensorSlice> slices = {};    // As they were given.
    std::vector<TensorSlice> resolved = {};  // The same.
  };

  // `prefix` is named in errors.
  explicit AddedTensors(std::string prefix) : prefix_(std::move(prefix)) {}

  // Throws: InvalidArgumentError for a name that is empty or starts with a zero byte.
  void check_name(std::string_view name) const;
  // Throws: InvalidArgumentError for a tensor that is unset.
  void check_set(std::string_view name, const Tensor& tensor) const;
  // Throws: InvalidArgumentError.
  [[noreturn]] void throw_added_before(std::string_view name) const;

  // True if the tensor is a part, which is noted; false if the slice is all of the tensor, which is
  // to be added as a whole then. `is_taken`: there is a whole tensor of this name.
  // Throws: InvalidArgumentError for a slice that reaches outside, overlaps another one or does not
  // have the tensor's shape, if type or full shape differ from those of the slices before, and for
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

}  // namespace crochet::internal
