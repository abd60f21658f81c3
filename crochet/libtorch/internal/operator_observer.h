// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <shared_mutex>
#include <vector>

#include <ATen/core/Tensor.h>

#include "crochet/copies/borrowed_array.h"

namespace crochet::inline v0::libtorch::internal {

class DeviceBarrier;

// The barriers that are raised, of all graphs, and the observer of LibTorch's operators that serves
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

  // A barrier of tensors in the CPU's memory.
  void add(WriteBarrier& barrier);
  void remove(WriteBarrier& barrier) noexcept;
  // A barrier of tensors on devices.
  void add(DeviceBarrier& barrier);
  void remove(DeviceBarrier& barrier) noexcept;

  // Announces a write to the whole memory of the tensor, as resize_() may free it.
  void announce(const at::Tensor& tensor);
  // Announces that anything may be written.
  void announce_all() noexcept;

 private:
  class Installed;

  template <typename Barrier>
  void add(std::vector<Barrier*>& barriers, Barrier& barrier);
  template <typename Barrier>
  void remove(std::vector<Barrier*>& barriers, Barrier& barrier) noexcept;

  std::shared_mutex mutex_;  // Guards what follows.
  std::vector<WriteBarrier*> barriers_;
  std::vector<DeviceBarrier*> device_barriers_;
  std::unique_ptr<Installed> installed_;  // Null without barriers.
};

}  // namespace crochet::inline v0::libtorch::internal
