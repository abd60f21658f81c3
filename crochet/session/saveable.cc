// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/saveable.h"

#include <utility>

#include "crochet/base/error.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0 {
namespace {

class SaveableOfFunctions final : public Saveable {
 public:
  SaveableOfFunctions(std::function<TensorMap()> save,
                      std::function<void(const TensorMap&)> restore,
                      std::function<std::optional<Rows>()> rows)
      : save_(std::move(save)), restore_(std::move(restore)), rows_(std::move(rows)) {}
  TensorMap save() const override { return save_(); }
  void restore(const TensorMap& state) override { restore_(state); }
  std::optional<Rows> rows() const override { return rows_ ? rows_() : std::nullopt; }

 private:
  const std::function<TensorMap()> save_;
  const std::function<void(const TensorMap&)> restore_;
  const std::function<std::optional<Rows>()> rows_;
};

}  // namespace

std::shared_ptr<Saveable> internal::make_saveable(
    std::function<TensorMap()> save, std::function<void(const TensorMap&)> restore,
    std::function<std::optional<Saveable::Rows>()> rows) {
  return std::make_shared<SaveableOfFunctions>(std::move(save), std::move(restore),
                                               std::move(rows));
}

const Tensor& single_value(const TensorMap& state, DType dtype) {
  if (state.size() != 1 || !state.begin()->first.empty())
    throw InvalidArgumentError(
        fmt::format("stored state: found {} values, expected one number", state.size()));
  const Tensor& value = state.begin()->second;
  if (value.dtype() != dtype || value.num_elements() != 1)
    throw InvalidArgumentError(
        fmt::format("stored state: found {}, expected one {}", describe(value), dtype));
  return value;
}

}  // namespace crochet::inline v0
