// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/copies/internal/barrier_state.h"

#include <algorithm>
#include <exception>

#include "crochet/copies/borrowed_array.h"

namespace crochet::inline v0::internal {

// A forked child has the barrier as its parent left it, and none of the batches.
BarrierState::BarrierState(WriteBarrier& barrier)
    : barrier_(barrier),
      phase_(barrier.is_raised_ ? Phase::kRaised : Phase::kLowered),
      snapshot_thread_(std::this_thread::get_id()) {}

bool BarrierState::has_pending() noexcept {
  if (num_pending_.load(std::memory_order_acquire) == 0) return false;
  const Lock lock(mutex_);
  update();
  return num_pending_ > 0;
}

void BarrierState::before_write(const std::byte* begin, const std::byte* end) noexcept {
  if (num_pending_.load(std::memory_order_acquire) == 0 &&
      !any_unwritten_.load(std::memory_order_acquire))
    return;
  {
    const Lock lock(mutex_);
    unwritten_.record_write(begin, end);
    any_unwritten_ = !unwritten_.empty();
  }
  while (record_first_write(begin, end)) {
  }
  // Each search begins again: the list of batches may have changed meanwhile.
  while (const auto batch = find_pending(begin, end))
    while (const auto array = batch->find_pending(begin, end)) batch->copy(*array);
}

bool BarrierState::record_first_write(const std::byte* begin, const std::byte* end) noexcept {
  std::shared_ptr<CopyOnWriteBatch> to_copy;
  {
    const Lock lock(mutex_);
    const auto found = std::ranges::find_if(guarded_, [&](const Guarded& each) {
      return !each.is_written && each.batch->overlaps(begin, end);
    });
    if (found == guarded_.end()) return false;
    found->is_written = true;
    copies_early_ = true;
    ++num_written_;
    if (!found->is_copied_early && !found->batch->is_done()) to_copy = found->batch;
  }
  if (to_copy) CopyOnWriteBatch::copy_in_background(to_copy);
  return true;
}

std::shared_ptr<CopyOnWriteBatch> BarrierState::find_pending(const std::byte* begin,
                                                             const std::byte* end) {
  const Lock lock(mutex_);
  for (const Guarded& each : guarded_)
    if (!each.batch->is_done() && each.batch->find_pending(begin, end)) return each.batch;
  return nullptr;
}

BarrierState::Guarded* BarrierState::find(const CopyOnWriteBatch& batch) noexcept {
  const auto found = std::ranges::find_if(
      guarded_, [&](const Guarded& each) { return each.batch.get() == &batch; });
  return found == guarded_.end() ? nullptr : &*found;
}

void BarrierState::update() noexcept {
  std::erase_if(guarded_,
                [](const Guarded& each) { return each.has_ended && each.batch->is_done(); });
  num_pending_ = static_cast<size_t>(std::ranges::count_if(guarded_, &Guarded::is_pending));
}

void BarrierState::begin_snapshot() {
  const Lock lock(mutex_);
  unwritten_.begin_snapshot();
  any_unwritten_ = !unwritten_.empty();
}

void BarrierState::start(const std::shared_ptr<CopyOnWriteBatch>& batch) {
  bool is_copied_early = false;
  {
    Lock lock(mutex_);
    raise(lock);
    guarded_.reserve(guarded_.size() + 1);
    batch->set_versions(unwritten_);
    any_unwritten_ = !unwritten_.empty();
    is_copied_early = copies_early_;
    guarded_.push_back(
        {.batch = batch, .is_copied_early = is_copied_early, .num_written_before = num_written_});
    update();
    snapshot_thread_ = std::this_thread::get_id();
  }
  if (is_copied_early) CopyOnWriteBatch::copy_in_background(batch);
}

void BarrierState::copy_all(CopyOnWriteBatch& batch) noexcept {
  batch.copy_all();
  const Lock lock(mutex_);
  if (Guarded* const guarded = find(batch)) guarded->is_written = true;
  update();
}

void BarrierState::end(CopyOnWriteBatch& batch) noexcept {
  {
    const Lock lock(mutex_);
    if (Guarded* const guarded = find(batch)) {
      guarded->has_ended = true;
      if (guarded->num_written_before == num_written_) copies_early_ = false;
    }
  }
  batch.abandon();
  const Lock lock(mutex_);
  update();
}

void BarrierState::raise(Lock& lock) {
  changed_.wait(lock, [this] { return phase_ == Phase::kLowered || phase_ == Phase::kRaised; });
  if (phase_ == Phase::kRaised) return;
  phase_ = Phase::kRaising;
  lock.unlock();
  std::exception_ptr error;
  try {
    barrier_.raise();
    barrier_.is_raised_ = true;
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  phase_ = error ? Phase::kLowered : Phase::kRaised;
  changed_.notify_all();
  if (error) std::rethrow_exception(error);
}

bool BarrierState::may_settle() noexcept {
  const Lock lock(mutex_);
  update();
  return num_pending_ == 0 && !unwritten_.are_many();
}

bool BarrierState::settle(EndedBy who) noexcept {
  Lock lock(mutex_);
  update();
  if (phase_ != Phase::kRaised || num_pending_ > 0) return phase_ == Phase::kLowered;
  if (unwritten_.are_many()) return false;
  if (who == EndedBy::kSnapshotThread && snapshot_thread_ != std::this_thread::get_id())
    return false;
  unwritten_.clear();
  any_unwritten_ = false;
  phase_ = Phase::kLowering;
  lock.unlock();
  barrier_.lower();
  barrier_.is_raised_ = false;
  lock.lock();
  phase_ = Phase::kLowered;
  changed_.notify_all();
  return true;
}

void BarrierState::drain() noexcept {
  for (;;) {
    std::shared_ptr<CopyOnWriteBatch> pending;
    {
      const Lock lock(mutex_);
      const auto found = std::ranges::find_if(guarded_, &Guarded::is_pending);
      if (found == guarded_.end()) {
        unwritten_.clear();
        any_unwritten_ = false;
        return;
      }
      pending = found->batch;
    }
    copy_all(*pending);
  }
}

}  // namespace crochet::inline v0::internal
