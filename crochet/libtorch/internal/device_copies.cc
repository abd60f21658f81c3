// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/device_copies.h"

#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>
#include <torch/types.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/copies/internal/announced_copies.h"
#include "crochet/engines/local/internal/graph_state.h"
#include "crochet/libtorch/internal/error_message.h"
#include "crochet/libtorch/internal/tensor_memory.h"

namespace crochet::inline v0::libtorch::internal {
namespace {

std::shared_ptr<PendingCopies> failed_copy(const at::Tensor& tensor, const std::string& name,
                                           const std::exception& error) {
  auto failed = std::make_shared<crochet::internal::AnnouncedCopies>();
  failed->announce(std::make_exception_ptr(
      InternalError(fmt::format("the copy of \"{}\" on {} for a checkpoint failed: {}", name,
                                tensor.device().str(), first_line(error)))));
  return failed;
}

}  // namespace

// The streams that copy, one for each device.
class DeviceCopies::Streams {
 public:
  bool has(c10::Device device) {
    const std::lock_guard lock(mutex_);
    return find(device) != nullptr;
  }

  // The stream, after all that `current` has been given so far. Requires: has().
  c10::Stream after(const c10::Stream& current) {
    const std::lock_guard lock(mutex_);
    Side& side = *find(current.device());
    if (side.stream != current) {
      side.start.record(current);
      side.start.block(side.stream);
    }
    return side.stream;
  }

 private:
  struct Side {
    c10::Stream stream;
    c10::Event start;  // Recorded again for each copy.
  };

  // Null for a device that has no streams or events.
  Side* find(c10::Device device) {
    const std::pair key(device.type(), device.index());
    if (const auto found = sides_.find(key); found != sides_.end()) return found->second.get();
    std::unique_ptr<Side> side;
    try {
      const c10::impl::VirtualGuardImpl guard(device.type());
      side.reset(new Side{guard.getStreamFromGlobalPool(device), c10::Event(device.type())});
      side->start.record(side->stream);
      static_cast<void>(side->start.query());
    } catch (const c10::Error& error) {
      side = nullptr;
      log_debug(fmt::format("tensors on {} are copied between two steps: {}", device.str(),
                            first_line(error)));
    }
    return sides_.emplace(key, std::move(side)).first->second.get();
  }

  std::mutex mutex_;  // Guards what follows.
  std::map<std::pair<c10::DeviceType, c10::DeviceIndex>, std::unique_ptr<Side>> sides_;
};

std::shared_ptr<DeviceCopies> DeviceCopies::of(local::Graph& graph) {
  if (const auto attached = graph.attached<DeviceCopies>(); !attached.empty())
    return attached.front();
  auto copies = std::make_shared<DeviceCopies>(graph);
  graph.attach(copies);
  return copies;
}

DeviceCopies::DeviceCopies(local::Graph& graph)
    : graph_(graph),
      barrier_(std::make_shared<DeviceBarrier>()),
      streams_([] { return std::make_unique<Streams>(); }) {}

DeviceCopies::~DeviceCopies() = default;

bool DeviceCopies::can_copy(const at::Tensor& tensor) {
  // Conjugated and negated views are resolved on the CPU after the copy.
  return !tensor.device().is_cpu() && tensor.has_storage() && !tensor.is_conj() &&
         !tensor.is_neg() && streams_->has(tensor.device());
}

CapturedState DeviceCopies::begin(const at::Tensor& tensor, const std::string& name,
                                  Writes writes) {
  if (tensor.numel() == 0)
    return {.tensors = {{"", Tensor(checked_dtype(tensor), shape_of(tensor))}}};
  const PinnedMemory::Lent lent = memory_.lend(tensor);
  CapturedState state{.tensors = {{"", lent.tensor}}};
  try {
    state.copies.push_back(queue(tensor, lent, name, writes));
  } catch (const std::exception& error) {
    lent.piece->abandon();  // The device may still write to it.
    state.copies.push_back(failed_copy(tensor, name, error));
    return state;
  }
  local::internal::GraphState::of(graph_).barriers.add({barrier_, &barrier_->guard()});
  return state;
}

std::shared_ptr<PendingCopies> DeviceCopies::queue(const at::Tensor& tensor,
                                                   const PinnedMemory::Lent& target,
                                                   const std::string& name, Writes writes) {
  const at::NoGradGuard no_grad;
  const c10::impl::VirtualGuardImpl guard(tensor.device().type());
  c10::Stream stream = guard.getStream(tensor.device());
  if (writes == Writes::kAnnounced) stream = streams_->after(stream);
  {
    const c10::StreamGuard in_stream(stream);
    target.piece->memory().copy_(tensor, /*non_blocking=*/true);
  }
  // Its storage may lose the memory before the copy is made.
  if (writes == Writes::kAnnounced)
    guard.recordDataPtrOnStream(tensor.storage().data_ptr(), stream);
  return barrier_->add({.source = tensor, .target = target, .stream = stream, .name = name},
                       writes == Writes::kAnnounced ? DeviceBarrier::Recorded::kTogether
                                                    : DeviceBarrier::Recorded::kAlone);
}

void DeviceCopies::drain() { local::internal::GraphState::of(graph_).barriers.drain(); }

}  // namespace crochet::inline v0::libtorch::internal
