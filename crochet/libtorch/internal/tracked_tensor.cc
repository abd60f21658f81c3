// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/tracked_tensor.h"

#include <string>
#include <utility>

#include <c10/core/Storage.h>
#include <torch/types.h>
#include <torch/version.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/process_facts.h"
#include "crochet/libtorch/internal/device_copies.h"
#include "crochet/libtorch/internal/kept_memory.h"
#include "crochet/libtorch/internal/tensor_memory.h"
#include "crochet/libtorch/tensor.h"
#include "crochet/session/internal/nested_names.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::libtorch::internal {
namespace {

// Throws: FailedPreconditionError if the tensor has been moved since it was tracked.
ArrayView view_of(const at::Tensor& tensor, const std::string& name) {
  if (!is_plain(tensor))
    throw FailedPreconditionError(fmt::format(
        "tensor \"{}\" is not as it was when it was tracked: it is {} now, or has other "
        "strides; move modules to their device and layout before they are tracked",
        name, describe(tensor)));
  return {.dtype = checked_dtype(tensor),
          .shape = shape_of(tensor),
          .data = static_cast<std::byte*>(tensor.data_ptr())};
}

// Elements that are copied by LibTorch: those on a device, or with other strides.
class TensorObject final : public Saveable {
 public:
  TensorObject(at::Tensor tensor, std::string name, DeviceCopies::Writes writes,
               std::shared_ptr<DeviceCopies> copies)
      : tensor_(std::move(tensor)),
        name_(std::move(name)),
        writes_(writes),
        copies_(std::move(copies)) {}

  TensorMap save() const override { return {{"", to_tensor(tensor_)}}; }

  CapturedState capture() const override {
    if (copies_->can_copy(tensor_)) return copies_->begin(tensor_, name_, writes_);
    return {.tensors = save()};
  }

  void restore(const TensorMap& state) override {
    const Tensor& value = single_value_of(state);
    const DType dtype = checked_dtype(tensor_);
    if (value.dtype() != dtype || value.shape() != shape_of(tensor_))
      throw InvalidArgumentError(fmt::format("found {}, expected {} {}", crochet::describe(value),
                                             dtype, shape_of(tensor_)));
    copies_->drain();
    const at::NoGradGuard no_grad;
    tensor_.copy_(to_torch(value));
  }

 private:
  static const Tensor& single_value_of(const TensorMap& state) {
    const auto found = state.find("");
    if (found == state.end() || state.size() != 1)
      throw InvalidArgumentError(
          fmt::format("found {} values, expected those of one tensor", state.size()));
    return found->second;
  }

  at::Tensor tensor_;
  const std::string name_;  // For messages.
  const DeviceCopies::Writes writes_;
  const std::shared_ptr<DeviceCopies> copies_;
};

// Its address stays that of the memory, even if that is freed.
std::shared_ptr<const void> identity_of(const std::shared_ptr<const void>& memory) {
  return {std::make_shared<std::weak_ptr<const void>>(memory), memory.get()};
}

}  // namespace

void track_tensor(const Tracker& tracker, std::string_view name, const at::Tensor& tensor,
                  std::shared_ptr<WriteBarrier> barrier) {
  crochet::internal::add_library("torch", TORCH_VERSION);
  Tracker here = tracker;
  const std::string full_name = crochet::internal::full_name(tracker.name(), name);
  try {
    static_cast<void>(checked_dtype(tensor));
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError(fmt::format("tensor \"{}\": {}", full_name, error.what()));
  }
  if (!is_plain(tensor))
    return here.add_object(
        name, std::make_shared<TensorObject>(
                  tensor, full_name,
                  barrier ? DeviceCopies::Writes::kAnnounced : DeviceCopies::Writes::kUnknown,
                  DeviceCopies::of(tracker.graph())));
  BorrowedArray array = {.view = [tensor, full_name] { return view_of(tensor, full_name); }};
  // Memory that may go away is copied between the steps.
  if (const auto memory = barrier ? kept_memory(tensor.storage()) : nullptr) {
    array.barrier = std::move(barrier);
    array.owner = [memory] { return memory; };
    array.identity = [memory] { return identity_of(memory); };
  }
  here.add_array(name, std::move(array));
}

void track_shard(Tracker& tracker, const at::Tensor& tensor) {
  crochet::internal::add_library("torch", TORCH_VERSION);
  const std::string name = tracker.name();
  if (!tensor.defined() || !is_plain(tensor))
    throw InvalidArgumentError(
        fmt::format("sharded(): \"{}\" is {}, expected a tensor on the CPU whose elements follow "
                    "each other",
                    name, describe(tensor)));
  tracker.add_array("", {.view = [&tensor, name] { return view_of(tensor, name); }});
}

}  // namespace crochet::inline v0::libtorch::internal
