// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/device_fence.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <c10/core/Event.h>
#include <c10/core/Storage.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include "crochet/base/clock.h"
#include "crochet/base/error.h"
#include "crochet/engines/local/borrowed_array.h"
#include "crochet/libtorch/error_message.h"
#include "crochet/libtorch/operator_observer.h"

namespace crochet::inline v0::libtorch {
namespace {

// Copies that take a few microseconds share an event, which takes some itself.
constexpr size_t kBytesOfAnEvent = size_t{1} << 20;

// How often an event is queried: LibTorch 1.13 cannot wait for one.
constexpr std::chrono::microseconds kFirstEventPause(20);
constexpr std::chrono::microseconds kLongestEventPause(1000);

c10::Stream current_stream(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

const std::byte* memory_of(const PinnedMemory::Piece& piece) {
  return static_cast<const std::byte*>(piece.memory().data_ptr());
}

}  // namespace

// An event after the copies that one stream makes one after another. For one thread at a time.
class DeviceFence::Event {
 public:
  explicit Event(const c10::Stream& stream) : stream_(stream), event_(stream.device_type()) {}

  const c10::Stream& stream() const { return stream_; }
  bool is_recorded() const { return event_.was_marked_for_recording(); }
  void add(size_t num_bytes) {
    num_bytes_ += num_bytes;
    if (num_bytes_ >= kBytesOfAnEvent) record();
  }
  void record() {
    if (!is_recorded()) event_.record(stream_);
  }
  bool is_reached() {
    record();
    return event_.query();
  }
  // What is queued to this stream from now on comes after the copies.
  void block(const c10::Stream& stream) {
    if (stream == stream_ || std::find(waiting_.begin(), waiting_.end(), stream) != waiting_.end())
      return;
    record();
    event_.block(stream);
    waiting_.push_back(stream);
  }

 private:
  const c10::Stream stream_;
  c10::Event event_;
  size_t num_bytes_ = 0;
  std::vector<c10::Stream> waiting_;
};

class DeviceFence::State {
 public:
  void add(Copy copy, Recorded recorded) {
    const std::lock_guard lock(mutex_);
    const std::byte* const target = memory_of(*copy.target);
    const size_t num_bytes = copy.source.nbytes();
    Guarded guarded{.storage = copy.source.storage(),
                    .target = std::move(copy.target),
                    .event = event_for(copy.stream, recorded),
                    .name = std::move(copy.name)};
    Event& event = *guarded.event;
    const c10::StorageImpl* const storage = guarded.storage.unsafeGetStorageImpl();
    copies_.emplace(target, std::move(guarded));
    try {
      by_storage_.emplace(storage, target);
      if (recorded == Recorded::kAlone)
        event.record();
      else
        event.add(num_bytes);
    } catch (...) {
      remove(target);
      throw;
    }
  }

  void before_write_to(const at::Tensor& tensor) noexcept {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = by_storage_.equal_range(tensor.storage().unsafeGetStorageImpl());
    for (auto each = begin; each != end; ++each) guard(copies_.at(each->second));
  }

  void before_any_write() noexcept {
    const std::lock_guard lock(mutex_);
    for (auto& [target, copy] : copies_) guard(copy);
  }

  void wait_for(const std::byte* target) {
    std::chrono::microseconds pause = kFirstEventPause;
    while (!take_if_made(target)) {
      Clock::real().sleep_for(pause);
      pause = std::min(pause * 3 / 2, kLongestEventPause);
    }
  }

 private:
  struct Guarded {
    c10::Storage storage;  // Kept, so that the memory that is read is not used for anything else.
    std::shared_ptr<PinnedMemory::Piece> target;
    std::shared_ptr<Event> event;
    std::string name;
    std::string error = {};  // Why the copy may be torn.
  };
  using Copies = std::unordered_map<const std::byte*, Guarded>;  // By the target's memory.

  std::shared_ptr<Event> event_for(const c10::Stream& stream, Recorded recorded) {
    if (recorded == Recorded::kAlone) return std::make_shared<Event>(stream);
    std::erase_if(open_, [](const auto& event) { return event->is_recorded(); });
    for (const std::shared_ptr<Event>& event : open_)
      if (event->stream() == stream) return event;
    open_.push_back(std::make_shared<Event>(stream));
    return open_.back();
  }

  // The write that follows is made in the current stream of the tensor's device.
  static void guard(Guarded& copy) noexcept {
    try {
      copy.event->block(current_stream(copy.event->stream().device()));
    } catch (const std::exception& error) {
      if (copy.error.empty())
        copy.error = fmt::format("a stream cannot wait for it: {}", first_line(error));
    }
  }

  // True if the copy is made, and no longer guarded. Throws: InternalError, as copy().
  bool take_if_made(const std::byte* target) {
    Copies::node_type made;  // Released without the mutex.
    std::string error;
    {
      const std::lock_guard lock(mutex_);
      Guarded& copy = copies_.at(target);
      try {
        if (!copy.event->is_reached()) return false;
        error = copy.error;
      } catch (const std::exception& failure) {
        error = first_line(failure);
      }
      made = remove(target);
    }
    if (error.empty()) return true;
    made.mapped().target->abandon();
    throw InternalError(fmt::format("the copy of \"{}\" on {} for a checkpoint failed: {}",
                                    made.mapped().name,
                                    made.mapped().event->stream().device().str(), error));
  }

  Copies::node_type remove(const std::byte* target) {
    Copies::node_type copy = copies_.extract(target);
    auto [begin, end] = by_storage_.equal_range(copy.mapped().storage.unsafeGetStorageImpl());
    for (; begin != end; ++begin)
      if (begin->second == target) {
        by_storage_.erase(begin);
        break;
      }
    return copy;
  }

  std::mutex mutex_;  // Guards what follows.
  Copies copies_;
  std::unordered_multimap<const c10::StorageImpl*, const std::byte*> by_storage_;
  std::vector<std::shared_ptr<Event>> open_;  // To which copies may be added.
};

DeviceFence::DeviceFence() : state_([] { return std::make_unique<State>(); }) {}

DeviceFence::~DeviceFence() = default;

void DeviceFence::add(Copy copy, Recorded recorded) { state_->add(std::move(copy), recorded); }

local::ArrayView DeviceFence::array_of(const at::Tensor& source) {
  // One byte, so that it is a single piece. It is not read.
  return {.dtype = DType::kUint8, .shape = {1}, .data = static_cast<std::byte*>(source.data_ptr())};
}

void DeviceFence::before_write_to(const at::Tensor& tensor) noexcept {
  if (has_pending()) state_->before_write_to(tensor);
}

void DeviceFence::before_any_write() noexcept {
  if (has_pending()) state_->before_any_write();
}

void DeviceFence::wait_for(const std::byte* target) { state_->wait_for(target); }

void DeviceFence::raise() { OperatorObserver::instance().add(*this); }

void DeviceFence::lower() noexcept { OperatorObserver::instance().remove(*this); }

void DeviceFence::copy(const local::ArrayView& /*array*/, std::byte* to, size_t /*begin*/,
                       size_t /*end*/) {
  wait_for(to);
}

}  // namespace crochet::inline v0::libtorch
