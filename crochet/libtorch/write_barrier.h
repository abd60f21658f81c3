// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "crochet/base/export.h"
#include "crochet/copies/write_barrier.h"
#include "crochet/engines/local/graph.h"

namespace crochet::inline v0::libtorch {

// Announces each write of a LibTorch operator to a tensor on the CPU before it happens, so that
// parameters and the state of optimizers are saved while a step runs.
//
// While a snapshot may need them, an observer of operators is installed, which costs about 1 us for
// each operator. It knows from an operator's schema to which arguments it writes. It does not see:
//
// - writes by raw pointer (data_ptr(), accessors, from_blob aliases);
// - writes that a schema does not have, as of batch norm to its running statistics: buffers of
//   modules are therefore copied between the steps;
// - operators on a thread that has switched observers off (at::DisableRecordFunctionGuard);
// - functions that do not pass the dispatcher, as those of at::cpu.
//
// Tensors on devices have a barrier of their own, which uses the same observer.
//
// before_raw_write() announces the first and the last kind. DebugOptions::check_torn_snapshots
// finds such writes; a save that finds one is not published, and from then on tensors are copied
// between the steps. A storage may be given other memory: a snapshot keeps what it reads.
class CROCHET_EXPORT OperatorBarrier : public WriteBarrier {
 public:
  // The one of a graph.
  static std::shared_ptr<OperatorBarrier> of(local::Graph& graph);

  OperatorBarrier() = default;

 protected:
  void raise() override;
  void lower() noexcept override;
};

// Announces that a step is about to write to a tensor by raw pointer, if it is a parameter, a
// buffer or the state of an optimizer:
//
//   for (const torch::Tensor& weight : net->parameters()) {
//     libtorch::before_raw_write(weight);
//     my_update(weight.data_ptr<float>(), weight.numel());
//   }
//
// Returns once pending copies of its memory are made; costs a few loads if there are none. For a
// tensor on a device it returns at once, and the device's current stream waits for the copies: call
// it in the stream that is about to write. Thread-safe.
CROCHET_EXPORT void before_raw_write(const at::Tensor& tensor);

}  // namespace crochet::inline v0::libtorch
