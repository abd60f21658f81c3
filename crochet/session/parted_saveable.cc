// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/parted_saveable.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0 {
namespace {

class ValueInMemory final : public PartValue {
 public:
  explicit ValueInMemory(const Tensor& value) : value_(value) {}

  Tensor read() override { return value_; }
  void read_into(std::span<std::byte> destination) override {
    const std::span<const std::byte> bytes = value_.bytes();
    if (bytes.size() != destination.size())
      throw InvalidArgumentError(
          fmt::format("found {} bytes, expected {}", bytes.size(), destination.size()));
    std::ranges::copy(bytes, destination.begin());
  }

 private:
  const Tensor& value_;
};

class ValuesInMemory final : public PartValues {
 public:
  explicit ValuesInMemory(const TensorMap& state) : state_(state), parts_(parts_of(state)) {}

  const StoredParts& parts() const override { return parts_; }
  void read_later(const std::string& key, Take take) override {
    later_.emplace_back(key, std::move(take));
  }
  void read_now(const std::string& key, const Take& take) override {
    ValueInMemory value(state_.at(key));
    take(value);
  }

  void read_all() {
    for (const auto& [key, take] : later_) read_now(key, take);
  }

 private:
  static StoredParts parts_of(const TensorMap& state) {
    StoredParts::Map parts;
    for (const auto& [key, value] : state)
      parts.emplace(key, StoredParts::Part{value.dtype(), value.shape()});
    return StoredParts(std::move(parts));
  }

  const TensorMap& state_;
  const StoredParts parts_;
  std::vector<std::pair<std::string, Take>> later_;
};

}  // namespace

void PartedSaveable::restore(const TensorMap& state) {
  ValuesInMemory values(state);
  restore_parts(values.parts(), values);
  values.read_all();
}

}  // namespace crochet::inline v0
