// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/format/internal/added_tensors.h"

#include "crochet/base/error.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/tensor/internal/slice_cover.h"

namespace crochet::inline v0::internal {

void AddedTensors::check_name(std::string_view name) const {
  if (name.empty()) throw InvalidArgumentError(fmt::format("{}: a tensor without a name", prefix_));
  // Such keys are reserved for the slices of partitioned tensors.
  if (name.front() == '\0')
    throw InvalidArgumentError(
        fmt::format("{}: the name of a tensor starts with a zero byte", prefix_));
}

void AddedTensors::check_set(std::string_view name, const Tensor& tensor) const {
  if (!tensor.is_set())
    throw InvalidArgumentError(fmt::format("{}: \"{}\" is unset", prefix_, name));
}

void AddedTensors::throw_added_before(std::string_view name) const {
  throw InvalidArgumentError(fmt::format("{}: \"{}\" was added before", prefix_, name));
}

bool AddedTensors::add_slice(std::string_view name, const Shape& full_shape,
                             const TensorSlice& slice, const Tensor& tensor, bool is_taken) {
  check_set(name, tensor);
  const TensorSlice resolved = internal::resolved(slice, full_shape);
  if (tensor.shape() != shape_of(resolved))
    throw InvalidArgumentError(fmt::format("{}: slice {} of \"{}\" {}: found {}, expected shape {}",
                                           prefix_, to_string(slice), name, full_shape,
                                           describe(tensor), shape_of(resolved)));
  if (resolved == whole_slice(full_shape)) return false;
  check_name(name);
  if (is_taken) throw_added_before(name);
  Partitioned& whole =
      partitioned_.try_emplace(std::string(name), Partitioned{tensor.dtype(), full_shape})
          .first->second;
  if (whole.dtype != tensor.dtype() || whole.shape != full_shape)
    throw InvalidArgumentError(
        fmt::format("{}: slice of \"{}\": found a tensor of {} {}, expected {} {}", prefix_, name,
                    tensor.dtype(), full_shape, whole.dtype, whole.shape));
  for (const TensorSlice& other : whole.resolved)
    if (overlap(resolved, other))
      throw InvalidArgumentError(fmt::format("{}: the slices {} and {} of \"{}\" overlap", prefix_,
                                             to_string(other), to_string(resolved), name));
  whole.slices.push_back(slice);
  whole.resolved.push_back(resolved);
  return true;
}

}  // namespace crochet::inline v0::internal
