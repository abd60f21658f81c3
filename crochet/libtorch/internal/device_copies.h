// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

#include "crochet/base/internal/process_bound.h"
#include "crochet/engines/local/graph.h"
#include "crochet/libtorch/internal/device_barrier.h"
#include "crochet/libtorch/internal/pinned_memory.h"
#include "crochet/session/saveable.h"

namespace crochet::inline v0::libtorch::internal {

// Copies tensors on devices, such as GPUs, for the snapshots of one graph: the device does, while
// the program queues the next step. Uses only what LibTorch has for any kind of device.
//
// Thread-safe.
class DeviceCopies {
 public:
  // The one of a graph.
  static std::shared_ptr<DeviceCopies> of(local::Graph& graph);

  explicit DeviceCopies(local::Graph& graph);
  ~DeviceCopies();
  DeviceCopies(const DeviceCopies&) = delete;
  DeviceCopies& operator=(const DeviceCopies&) = delete;

  // True for a tensor on a device that has streams and events.
  bool can_copy(const at::Tensor& tensor);

  // Whether an operator announces each write to a tensor. Then a stream of its own copies it, and
  // the stream that writes waits; otherwise the current one does, before what is queued to it next.
  enum class Writes { kAnnounced, kUnknown };
  // Begins to copy the tensor as it is after what its device's current stream has been given so
  // far. A copy that fails is an InternalError of the copies' wait(). Requires: can_copy().
  // Throws: ResourceExhaustedError.
  CapturedState begin(const at::Tensor& tensor, const std::string& name, Writes writes);
  // Returns once all copies of the graph's snapshots are made.
  void drain();

 private:
  class Streams;

  std::shared_ptr<PendingCopies> queue(const at::Tensor& tensor, const PinnedMemory::Lent& target,
                                       const std::string& name, Writes writes);

  local::Graph& graph_;  // Owns this.
  PinnedMemory memory_;
  const std::shared_ptr<DeviceBarrier> barrier_;
  crochet::internal::PerProcess<Streams> streams_;
};

}  // namespace crochet::inline v0::libtorch::internal
