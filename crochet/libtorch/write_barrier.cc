// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/operator_observer.h"
#include "crochet/libtorch/track.h"

namespace crochet::inline v0::libtorch {

std::shared_ptr<OperatorBarrier> OperatorBarrier::of(local::Graph& graph) {
  if (const auto attached = graph.attached<OperatorBarrier>(); !attached.empty())
    return attached.front();
  auto barrier = std::make_shared<OperatorBarrier>();
  graph.attach(barrier);
  return barrier;
}

void OperatorBarrier::raise() { internal::OperatorObserver::instance().add(*this); }

void OperatorBarrier::lower() noexcept { internal::OperatorObserver::instance().remove(*this); }

void before_raw_write(const at::Tensor& tensor) {
  internal::OperatorObserver::instance().announce(tensor);
}

}  // namespace crochet::inline v0::libtorch
