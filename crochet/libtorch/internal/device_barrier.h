// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include "crochet/base/internal/process_bound.h"
#include "crochet/copies/internal/guard.h"
#include "crochet/libtorch/internal/pinned_memory.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::libtorch::internal {

// Guards copies of tensors that their devices make, in streams: what a stream would write to such a
// tensor, it writes after the copy. It waits itself, by an event; the program does not.
//
// Thread-safe. Belongs to a shared_ptr, which its copies keep.
class DeviceBarrier : public std::enable_shared_from_this<DeviceBarrier> {
 public:
  // A copy that has been queued to a stream.
  struct Copy {
    at::Tensor source;
    PinnedMemory::Lent target;
    c10::Stream stream;
    std::string name;  // For messages.
  };
  // How soon the end of a copy is recorded in its stream: with other copies, of some 1 MiB in
  // total, or before anything else is queued.
  enum class Recorded { kTogether, kAlone };

  DeviceBarrier();
  ~DeviceBarrier();
  DeviceBarrier(const DeviceBarrier&) = delete;
  DeviceBarrier& operator=(const DeviceBarrier&) = delete;

  // Guards a copy until it is made; the barrier is raised meanwhile. The result waits for it, and
  // throws InternalError if it failed, or may be torn. Throws: c10::Error.
  std::shared_ptr<PendingCopies> add(Copy copy, Recorded recorded);

  // Announces that an operator of this thread is about to write to the tensor, or to any: the
  // thread's streams wait for the copies of these. If that fails, the copies do.
  void before_write_to(const at::Tensor& tensor) noexcept;
  void before_any_write() noexcept;

  // For the barriers of a graph.
  crochet::internal::PerProcess<crochet::internal::Guard>& guard() { return state_; }

 private:
  class Event;
  class GuardedCopy;
  class State;

  State& state();

  std::atomic<bool> is_raised_ = false;                            // In forked children, too.
  crochet::internal::PerProcess<crochet::internal::Guard> state_;  // A State.
};

}  // namespace crochet::inline v0::libtorch::internal
