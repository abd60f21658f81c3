// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/operation_options.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::local {
namespace {

// The number of elements; kAnyNumber if it is not determined.
int64_t known_elements(const TensorSpec& spec) {
  if (spec.num_elements != TensorSpec::kAnyNumber) return spec.num_elements;
  return spec.shape && spec.shape->is_fully_known() ? spec.shape->num_elements()
                                                    : TensorSpec::kAnyNumber;
}

}  // namespace

bool TensorSpec::agrees_with(const TensorSpec& other) const {
  if (dtype == DType::kInvalid || other.dtype == DType::kInvalid) return true;
  if (dtype != other.dtype) return false;
  if (shape && other.shape && !shape->is_compatible_with(*other.shape)) return false;
  const int64_t mine = known_elements(*this);
  const int64_t others = known_elements(other);
  return mine == others || mine == kAnyNumber || others == kAnyNumber;
}

std::string to_string(const TensorSpec& spec) {
  if (spec.dtype == DType::kInvalid) return "any tensor";
  if (spec.shape) return fmt::format("{} {}", spec.dtype, *spec.shape);
  if (spec.num_elements == 1) return fmt::format("one {}", spec.dtype);
  if (spec.num_elements != TensorSpec::kAnyNumber)
    return fmt::format("{} with {} elements", spec.dtype, spec.num_elements);
  return fmt::format("{} of any shape", spec.dtype);
}

}  // namespace crochet::inline v0::local
