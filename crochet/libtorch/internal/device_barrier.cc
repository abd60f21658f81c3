// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/device_barrier.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <c10/core/Event.h>
#include <c10/core/Storage.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include "crochet/base/clock.h"
#include "crochet/base/error.h"
#include "crochet/base/internal/process_owner.h"
#include "crochet/libtorch/internal/error_message.h"
#include "crochet/libtorch/internal/operator_observer.h"

namespace crochet::inline v0::libtorch::internal {
namespace {

// Copies that take a few microseconds share an event, which takes some itself.
constexpr size_t kBytesOfAnEvent = size_t{1} << 20;

// How often an event is queried: LibTorch 1.13 cannot wait for one.
constexpr std::chrono::microseconds kFirstEventPause(20);
constexpr std::chrono::microseconds kLongestEventPause(1000);

c10::Stream current_stream(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

}  // namespace

// An event after the copies that one stream makes one after another. For one thread at a time.
class DeviceBarrier::Event {
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

// A copy as its snapshot and the state know it. In a forked child, the parent's state keeps what
// the copy needs, which only the parent may release.
class DeviceBarrier::GuardedCopy final : public PendingCopies {
 public:
  // What is kept until the end of the copy.
  struct Kept {
    c10::Storage source;  // So that the memory that is read is not used for anything else.
    PinnedMemory::Lent target;
    std::shared_ptr<Event> event;
  };

  GuardedCopy(std::shared_ptr<DeviceBarrier> barrier, Kept kept, std::string name)
      : barrier_(std::move(barrier)), kept_(std::move(kept)), name_(std::move(name)) {}

  // Also throws FailedPreconditionError in a forked child, if its parent did not know the end.
  void wait() override;

  // With the mutex of the state:
  const c10::StorageImpl* source() const { return kept_.source.unsafeGetStorageImpl(); }
  bool has_ended() const { return has_ended_; }
  // The write that follows is made in the current stream of the tensor's device.
  void guard() noexcept {
    try {
      kept_.event->block(current_stream(kept_.event->stream().device()));
    } catch (const std::exception& error) {
      fail(fmt::format("a stream cannot wait for it: {}", first_line(error)));
    }
  }
  // True if the copy is made, or has failed. Requires: it has not ended.
  bool is_over() noexcept {
    try {
      return kept_.event->is_reached();
    } catch (const std::exception& error) {
      fail(first_line(error));
      return true;
    }
  }
  // The result is to be released without the mutex.
  Kept end() noexcept {
    if (!error_.empty()) kept_.target.piece->abandon();
    has_ended_ = true;
    return std::exchange(kept_, {});
  }

 private:
  void fail(const std::string& error) {
    if (error_.empty())
      error_ = fmt::format("the copy of \"{}\" on {} for a checkpoint failed: {}", name_,
                           kept_.event->stream().device().str(), error);
  }

  const crochet::internal::ProcessOwner owner_;
  const std::shared_ptr<DeviceBarrier> barrier_;
  Kept kept_;
  const std::string name_;
  std::string error_;  // Constant once it has ended.
  std::atomic<bool> has_ended_ = false;
};

class DeviceBarrier::State final : public crochet::internal::Guard {
 public:
  explicit State(DeviceBarrier& barrier) : barrier_(barrier) {}

  std::shared_ptr<PendingCopies> add(Copy copy, Recorded recorded) {
    const std::lock_guard raising(raising_);
    if (!barrier_.is_raised_) OperatorObserver::instance().add(barrier_);
    barrier_.is_raised_ = true;
    snapshot_thread_ = std::this_thread::get_id();
    const std::lock_guard lock(mutex_);
    const std::shared_ptr<Event> event = event_for(copy.stream, recorded);
    const auto guarded = std::make_shared<GuardedCopy>(
        barrier_.shared_from_this(),
        GuardedCopy::Kept{copy.source.storage(), std::move(copy.target), event},
        std::move(copy.name));
    copies_.emplace(guarded->source(), guarded);
    try {
      if (recorded == Recorded::kAlone)
        event->record();
      else
        event->add(copy.source.nbytes());
    } catch (...) {
      remove(*guarded);
      throw;
    }
    return guarded;
  }

  void before_write_to(const at::Tensor& tensor) noexcept {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = copies_.equal_range(tensor.storage().unsafeGetStorageImpl());
    for (auto each = begin; each != end; ++each) each->second->guard();
  }

  void before_any_write() noexcept {
    const std::lock_guard lock(mutex_);
    for (auto& [storage, copy] : copies_) copy->guard();
  }

  void wait_for(GuardedCopy& copy) noexcept {
    std::chrono::microseconds pause = kFirstEventPause;
    while (!has_ended(copy)) {
      Clock::real().sleep_for(pause);
      pause = std::min(pause * 3 / 2, kLongestEventPause);
    }
  }

  void drain() noexcept override {
    while (const auto copy = any_copy()) wait_for(*copy);
  }

  bool may_settle() noexcept override {
    while (const auto copy = any_copy())
      if (!has_ended(*copy)) return false;
    return true;
  }

  bool settle(EndedBy who) noexcept override {
    const std::lock_guard raising(raising_);
    if (!barrier_.is_raised_) return true;
    if (any_copy()) return false;
    if (who == EndedBy::kSnapshotThread && snapshot_thread_ != std::this_thread::get_id())
      return false;
    OperatorObserver::instance().remove(barrier_);
    barrier_.is_raised_ = false;
    return true;
  }

 private:
  std::shared_ptr<Event> event_for(const c10::Stream& stream, Recorded recorded) {
    if (recorded == Recorded::kAlone) return std::make_shared<Event>(stream);
    std::erase_if(open_, [](const auto& event) { return event->is_recorded(); });
    for (const std::shared_ptr<Event>& event : open_)
      if (event->stream() == stream) return event;
    open_.push_back(std::make_shared<Event>(stream));
    return open_.back();
  }

  // Null if there is none.
  std::shared_ptr<GuardedCopy> any_copy() {
    const std::lock_guard lock(mutex_);
    return copies_.empty() ? nullptr : copies_.begin()->second;
  }

  // Asks the device.
  bool has_ended(GuardedCopy& copy) noexcept {
    std::shared_ptr<GuardedCopy> removed;  // Released without the mutex, as `kept` is.
    GuardedCopy::Kept kept;
    const std::lock_guard lock(mutex_);
    if (copy.has_ended()) return true;
    if (!copy.is_over()) return false;
    removed = remove(copy);
    kept = copy.end();
    return true;
  }

  // Requires: the mutex is held.
  std::shared_ptr<GuardedCopy> remove(const GuardedCopy& copy) {
    auto [next, end] = copies_.equal_range(copy.source());
    while (next->second.get() != &copy) ++next;
    std::shared_ptr<GuardedCopy> removed = std::move(next->second);
    copies_.erase(next);
    return removed;
  }

  DeviceBarrier& barrier_;  // Owns this.

  std::mutex raising_;               // Held while the barrier is raised or lowered. Locked first.
  std::thread::id snapshot_thread_;  // Took the latest snapshot.

  std::mutex mutex_;  // Guards what follows.
  std::unordered_multimap<const c10::StorageImpl*, std::shared_ptr<GuardedCopy>> copies_;
  std::vector<std::shared_ptr<Event>> open_;  // To which copies may be added.
};

void DeviceBarrier::GuardedCopy::wait() {
  if (!has_ended_) {
    owner_.check("the copies of a snapshot");
    barrier_->state().wait_for(*this);
  }
  if (!error_.empty()) throw InternalError(error_);
}

DeviceBarrier::DeviceBarrier() : state_([this] { return std::make_unique<State>(*this); }) {}

DeviceBarrier::~DeviceBarrier() {
  if (is_raised_) OperatorObserver::instance().remove(*this);
}

DeviceBarrier::State& DeviceBarrier::state() { return static_cast<State&>(*state_); }

std::shared_ptr<PendingCopies> DeviceBarrier::add(Copy copy, Recorded recorded) {
  return state().add(std::move(copy), recorded);
}

void DeviceBarrier::before_write_to(const at::Tensor& tensor) noexcept {
  state().before_write_to(tensor);
}

void DeviceBarrier::before_any_write() noexcept { state().before_any_write(); }

}  // namespace crochet::inline v0::libtorch::internal
