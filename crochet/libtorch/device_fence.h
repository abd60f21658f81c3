// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include "crochet/base/internal/process_bound.h"
#include "crochet/engines/local/write_fence.h"
#include "crochet/libtorch/pinned_memory.h"

namespace crochet::inline v0::libtorch {

// Guards copies of tensors that their devices make, in streams: what a stream would write to such a
// tensor, it writes after the copy. It waits itself, by an event; the program does not.
//
// Each of its arrays stands for one copy. To "copy" it is to wait for the event, which is for the
// threads in the background, and for those that restore or close.
//
// Thread-safe.
class DeviceFence final : public local::WriteFence {
 public:
  // A copy that has been queued to a stream.
  struct Copy {
    at::Tensor source;
    std::shared_ptr<PinnedMemory::Piece> target;
    c10::Stream stream;
    std::string name;  // For messages.
  };
  // How soon the end of a copy is recorded in its stream: with other copies, of some 1 MiB in
  // total, or before anything else is queued.
  enum class Recorded { kTogether, kAlone };

  DeviceFence();
  ~DeviceFence() override;

  // Guards a copy until it is made. Its array is what array_of() returns, to be copied to the
  // target's memory. Throws: c10::Error.
  void add(Copy copy, Recorded recorded);
  static local::ArrayView array_of(const at::Tensor& source);

  // Announces that an operator of this thread is about to write to the tensor, or to any: the
  // thread's streams wait for the copies of these. If that fails, the copies do.
  void before_write_to(const at::Tensor& tensor) noexcept;
  void before_any_write() noexcept;

  // Returns once the copy to this memory is made. It is no longer guarded then. Throws: as copy().
  void wait_for(const std::byte* target);

 protected:
  void raise() override;
  void lower() noexcept override;
  // Throws: InternalError if the copy failed, or may be torn.
  void copy(const local::ArrayView& array, std::byte* to, size_t begin, size_t end) override;

 private:
  class Event;
  class State;

  PerProcess<State> state_;
};

}  // namespace crochet::inline v0::libtorch
