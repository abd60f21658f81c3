// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/restore_mismatch.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "crochet/base/internal/dynamic_type.h"
#include "crochet/checkpoint/saver/internal/stored_names.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {
namespace {

class HasMismatch {
 public:
  explicit HasMismatch(RestoreMismatch mismatch) : mismatch_(std::move(mismatch)) {}
  virtual ~HasMismatch() = default;
  HasMismatch(const HasMismatch&) = default;
  HasMismatch& operator=(const HasMismatch&) = delete;

  const RestoreMismatch& mismatch() const { return mismatch_; }

 private:
  const RestoreMismatch mismatch_;
};

template <typename ErrorClass>
class MismatchError final : public ErrorClass, public HasMismatch {
 public:
  MismatchError(const RestoreMismatch& mismatch, const std::string& message)
      : ErrorClass(message), HasMismatch(mismatch) {}
};

std::string described(const RestoreMismatch::Missing& missing) {
  return fmt::format("Key {} not found in checkpoint, where the program has {}", missing.key,
                     missing.value
                         ? fmt::format("{} {}", missing.value->dtype, missing.value->shape)
                         : "an object");
}

std::string described(const RestoreMismatch::Changed& changed) {
  return fmt::format(
      "\"{}\" is {} {} in the checkpoint and {} {} in the program{}", changed.name,
      changed.stored.dtype, changed.stored.shape, changed.expected.dtype, changed.expected.shape,
      changed.stored.dtype == changed.expected.dtype ? "" : ", which is not the original dtype");
}

std::string described(const RestoreMismatch::Surplus& surplus) {
  return fmt::format("\"{}\" ({} {}) is not in the program", surplus.key, surplus.value.dtype,
                     surplus.value.shape);
}

}  // namespace

std::optional<Shape> reshaped(const Shape& from, const Shape& to) {
  const int64_t num_elements = from.num_elements();
  std::vector<int64_t> sizes(to.dimensions().begin(), to.dimensions().end());
  const auto unknown = std::ranges::find(sizes, Shape::kUnknownDimension);
  if (unknown != sizes.end()) {
    *unknown = 1;
    const Shape others(sizes);
    if (!others.is_fully_known() || others.num_elements() == 0) return std::nullopt;
    *unknown = num_elements / others.num_elements();
  }
  const Shape shape(sizes);
  return shape.num_elements() == num_elements ? std::optional(shape) : std::nullopt;
}

std::string described(const StoredName& idle_rename) {
  return fmt::format(
      "rename {} matches nothing: no value that the program restores has the first name and is "
      "stored under the second",
      to_string(idle_rename));
}

std::string to_string(const RestoreMismatch& mismatch) {
  std::vector<std::string> problems;
  for (const auto& each : mismatch.missing) problems.push_back(described(each));
  for (const auto& each : mismatch.changed) problems.push_back(described(each));
  for (const auto& each : mismatch.surplus) problems.push_back(described(each));
  for (const auto& each : mismatch.idle_renames) problems.push_back(described(each));
  problems.insert(problems.end(), mismatch.others.begin(), mismatch.others.end());
  return fmt::format("checkpoint {} does not fit this program: {}", mismatch.prefix,
                     fmt::join(problems, "; "));
}

void throw_mismatch(const RestoreMismatch& mismatch, const std::string& message) {
  if (mismatch.changed.empty() && mismatch.surplus.empty() && mismatch.idle_renames.empty() &&
      mismatch.others.empty())
    throw MismatchError<NotFoundError>(mismatch, message);
  throw MismatchError<InvalidArgumentError>(mismatch, message);
}

const RestoreMismatch* mismatch_of(const Error& error) {
  const auto* const found = dynamic_as<const HasMismatch>(&error);
  return found == nullptr ? nullptr : &found->mismatch();
}

}  // namespace crochet::inline v0::internal
