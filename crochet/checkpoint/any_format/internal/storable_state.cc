// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/any_format/internal/storable_state.h"

#include <utility>

#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_writer.h"

namespace crochet::inline v0::internal {

StorableState::StorableState(CheckpointFormat format, std::string prefix)
    : format_(format), prefix_(std::move(prefix)), added_(prefix_) {}

void StorableState::check(std::string_view name, const Tensor& tensor) const {
  if (format_ == CheckpointFormat::kSafetensors)
    SafetensorsWriter::check_can_store(prefix_, name, tensor);
  else
    BundleWriter::check_can_store(prefix_, name, tensor);
}

void StorableState::add(std::string_view name, const Tensor& tensor) {
  added_.check_set(name, tensor);
  added_.check_name(name);
  check(name, tensor);
  // Most tensors are added in the order of their names.
  const size_t num_names = names_.size();
  names_.emplace_hint(names_.end(), name);
  if (names_.size() == num_names || added_.is_partitioned(name)) added_.throw_added_before(name);
}

void StorableState::add_slice(std::string_view name, const Shape& full_shape,
                              const TensorSlice& slice, const Tensor& tensor) {
  if (!added_.add_slice(name, full_shape, slice, tensor, names_.contains(name)))
    return add(name, tensor);
  check(name, tensor);
}

}  // namespace crochet::inline v0::internal
