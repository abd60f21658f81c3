// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/tensor/tensor.h"
#include "tools/comparison.h"
#include "tools/json.h"

namespace crochet::tool {

class Context;
struct NameFilter;

// How one tensor of two checkpoints, a and b, differs.
struct TensorDifference {
  // One of "only_in_a", "only_in_b", "type_or_shape" and "values".
  std::string kind = {};
  std::string name = {};
  TensorInfo a = {};
  TensorInfo b = {};
  Comparison values = {};
};

// A line, as `crochet diff` prints it.
std::string text_of(const TensorDifference& difference);
Json json_of(const TensorDifference& difference);

// Compares two checkpoints tensor by tensor.
class Comparer {
 public:
  // Of each path the checkpoint that commands choose (kCheckpointHelp). Requires: the arguments
  // outlive this.
  Comparer(const Context& context, const std::string& a, const std::string& b,
           const NameFilter& filter, Tolerance tolerance);

  const CheckpointReader& a() const { return a_; }
  const CheckpointReader& b() const { return b_; }
  // True if some tensor could not be read and compared; that was reported.
  bool had_trouble() const { return had_trouble_; }

  // Those in either checkpoint that the filter takes, readable or not.
  std::set<std::string> names() const;
  // Unset if both have the same.
  std::optional<TensorDifference> compare_tensor(const std::string& name);

 private:
  // False, with a complaint, for a value that one of them has but cannot be read.
  bool can_be_compared(const std::string& name);
  std::optional<Tensor> read(const CheckpointReader& reader, const std::string& name);

  const Context& context_;
  const NameFilter& filter_;
  const Tolerance tolerance_;
  const CheckpointReader a_;
  const CheckpointReader b_;
  bool had_trouble_ = false;
};

}  // namespace crochet::tool
