// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tracking/internal/rows_state.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/session/internal/nested_names.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {
namespace {

// The number of rows that all parts have so far, and the part that had it first.
struct CommonRows {
  std::optional<int64_t> number = {};
  std::string name = {};

  // The text of an error; empty if this part fits.
  std::string add(const std::string& part, const Shape& shape) {
    if (shape.rank() == 0) return fmt::format("\"{}\" is one value, expected rows", part);
    if (!number) {
      number = shape[0];
      name = part;
    }
    if (*number == shape[0]) return "";
    return fmt::format("\"{}\" has {} rows and \"{}\" has {}, expected the same number", name,
                       *number, part, shape[0]);
  }
};

}  // namespace

RowsState::RowsState(std::string name, std::shared_ptr<PartedSaveable> parts)
    : name_(std::move(name)), parts_(std::move(parts)) {
  for (const StatePart& part : parts_->parts_for(StoredParts()))
    if (part.dtype == DType::kString)
      throw InvalidArgumentError(
          fmt::format("sharded(): \"{}\" is a column of texts, expected numbers: ranks cannot have "
                      "an array of texts together",
                      full_name(part.key)));
}

std::string RowsState::full_name(const std::string& key) const {
  return internal::full_name(name_, key);
}

TensorMap RowsState::with_count(TensorMap state) const {
  CommonRows rows;
  for (const auto& [key, tensor] : state)
    if (const std::string error = rows.add(full_name(key), tensor.shape()); !error.empty())
      throw FailedPreconditionError("sharded(): " + error);
  state.emplace(kRowsName, Tensor::from<int64_t>({rows.number.value_or(0)}));
  return state;
}

TensorMap RowsState::save() const { return with_count(parts_->save()); }

CapturedState RowsState::capture() const {
  CapturedState state = parts_->capture();
  state.tensors = with_count(std::move(state.tensors));
  return state;
}

std::vector<StatePart> RowsState::parts_for(const StoredParts& stored) const {
  CommonRows rows;
  for (const auto& [key, part] : stored.all())
    if (part.shape.is_fully_known())  // Not of what stays in the program.
      if (const std::string error = rows.add(full_name(key), part.shape); !error.empty())
        throw InvalidArgumentError(error);
  return parts_->parts_for(stored);
}

std::vector<StatePart> RowsState::present_parts(const StoredParts& stored) const {
  return parts_->present_parts(stored);
}

void RowsState::restore_parts(const StoredParts& stored, PartValues& values) {
  parts_->restore_parts(stored, values);
}

}  // namespace crochet::inline v0::internal
