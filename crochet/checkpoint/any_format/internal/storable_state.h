// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/format/internal/added_tensors.h"

namespace crochet::inline v0::internal {

// Checks whether a CheckpointWriter could store these tensors, by their names, types and shapes:
// without files, and without their elements.
class CROCHET_EXPORT StorableState {
 public:
  // `prefix` is used in errors.
  StorableState(CheckpointFormat format, std::string prefix);

  // Throw: as CheckpointWriter.
  void add(std::string_view name, const Tensor& tensor);
  void add_slice(std::string_view name, const Shape& full_shape, const TensorSlice& slice,
                 const Tensor& tensor);

 private:
  void check(std::string_view name, const Tensor& tensor) const;

  const CheckpointFormat format_;
  const std::string prefix_;
  AddedTensors added_;
  std::set<std::string, std::less<>> names_;  // Of whole tensors.
};

}  // namespace crochet::inline v0::internal
