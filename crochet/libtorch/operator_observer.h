// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <shared_mutex>
#include <vector>

#include <ATen/core/Tensor.h>

#include "crochet/copies/write_fence.h"

namespace crochet::inline v0::libtorch {

class DeviceFence;

// The fences that are raised, of all graphs, and the observer of LibTorch's operators that serves
// them. It is installed while there are any.
//
// Thread-safe.
class OperatorObserver {
 public:
  static OperatorObserver& instance();

  OperatorObserver();
  ~OperatorObserver();
  OperatorObserver(const OperatorObserver&) = delete;
  OperatorObserver& operator=(const OperatorObserver&) = delete;

  // A fence of tensors in the CPU's memory.
  void add(copies::WriteFence& fence);
  void remove(copies::WriteFence& fence) noexcept;
  // A fence of tensors on devices.
  void add(DeviceFence& fence);
  void remove(DeviceFence& fence) noexcept;

  // Announces a write to the whole memory of the tensor, as resize_() may free it.
  void announce(const at::Tensor& tensor);
  // Announces that anything may be written.
  void announce_all() noexcept;

 private:
  class Installed;

  template <typename Fence>
  void add(std::vector<Fence*>& fences, Fence& fence);
  template <typename Fence>
  void remove(std::vector<Fence*>& fences, Fence& fence) noexcept;

  std::shared_mutex mutex_;  // Guards what follows.
  std::vector<copies::WriteFence*> fences_;
  std::vector<DeviceFence*> device_fences_;
  std::unique_ptr<Installed> installed_;  // Null without fences.
};

}  // namespace crochet::inline v0::libtorch
