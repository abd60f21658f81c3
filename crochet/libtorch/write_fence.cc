// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/write_fence.h"

#include "crochet/libtorch/operator_observer.h"

namespace crochet::inline v0::libtorch {

std::shared_ptr<OperatorFence> OperatorFence::of(local::Graph& graph) {
  if (const auto attached = graph.attached<OperatorFence>(); !attached.empty())
    return attached.front();
  auto fence = std::make_shared<OperatorFence>();
  graph.attach(fence);
  return fence;
}

void OperatorFence::raise() { OperatorObserver::instance().add(*this); }

void OperatorFence::lower() noexcept { OperatorObserver::instance().remove(*this); }

void before_raw_write(const at::Tensor& tensor) { OperatorObserver::instance().announce(tensor); }

}  // namespace crochet::inline v0::libtorch
