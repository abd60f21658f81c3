// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/fence_state.h"

#include <algorithm>

#include "crochet/base/scheduling_point.h"
#include "crochet/engines/local/write_fence.h"

namespace crochet::inline v0::local {

// A forked child has the fence as its parent left it, and none of the batches.
FenceState::FenceState(WriteFence& fence)
    : fence_(fence),
      phase_(fence.is_raised_ ? Phase::kRaised : Phase::kLowered),
      snapshot_thread_(std::this_thread::get_id()) {}

void FenceState::before_write(const std::byte* begin, const std::byte* end) noexcept {
  if (!has_pending()) return;
  Lock lock(mutex_);
  // Each search begins again: the list of batches may have changed without the mutex.
  for (Place place = find_pending(begin, end); place.first; place = find_pending(begin, end)) {
    FencedBatch& batch = *place.first;
    const size_t array = place.second;
    while (batch.has_unclaimed(array)) copy_piece(batch, array, lock);
    changed_.wait(lock, [&] { return batch.is_copied(array); });
  }
}

FenceState::Place FenceState::find_pending(const std::byte* begin, const std::byte* end) const {
  for (const std::shared_ptr<FencedBatch>& batch : batches_)
    if (const auto array = batch->find_pending(begin, end)) return {batch, *array};
  return {};
}

void FenceState::start(const std::shared_ptr<FencedBatch>& batch) {
  Lock lock(mutex_);
  batches_.reserve(batches_.size() + 1);
  // Counted before the fence is raised, so that nobody lowers it meanwhile.
  num_pending_ += batch->num_arrays();
  try {
    raise(lock);
    batches_.push_back(batch);
  } catch (...) {
    num_pending_ -= batch->num_arrays();
    changed_.notify_all();
    throw;
  }
  snapshot_thread_ = std::this_thread::get_id();
  changed_.notify_all();
}

void FenceState::raise(Lock& lock) {
  changed_.wait(lock, [this] { return phase_ == Phase::kLowered || phase_ == Phase::kRaised; });
  if (phase_ == Phase::kRaised) return;
  phase_ = Phase::kRaising;
  lock.unlock();
  std::exception_ptr error;
  try {
    fence_.raise();
    fence_.is_raised_ = true;
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  phase_ = error ? Phase::kLowered : Phase::kRaised;
  changed_.notify_all();
  if (error) std::rethrow_exception(error);
}

bool FenceState::settle(LoweredBy who) noexcept {
  Lock lock(mutex_);
  if (phase_ != Phase::kRaised || num_pending_ > 0) return phase_ == Phase::kLowered;
  if (who == LoweredBy::kSnapshotThread && snapshot_thread_ != std::this_thread::get_id())
    return false;
  phase_ = Phase::kLowering;
  lock.unlock();
  fence_.lower();
  fence_.is_raised_ = false;
  lock.lock();
  phase_ = Phase::kLowered;
  changed_.notify_all();
  return true;
}

bool FenceState::copy_piece_of(FencedBatch& batch) noexcept {
  Lock lock(mutex_);
  const size_t array = batch.first_unclaimed();
  if (array == batch.num_arrays()) return false;
  copy_piece(batch, array, lock);
  return true;
}

void FenceState::drain() noexcept {
  Lock lock(mutex_);
  while (num_pending_ > 0) {
    if (const auto batch = find_unclaimed())
      copy_piece(*batch, batch->first_unclaimed(), lock);
    else
      changed_.wait(lock);
  }
}

std::shared_ptr<FencedBatch> FenceState::find_unclaimed() const {
  for (const std::shared_ptr<FencedBatch>& batch : batches_)
    if (batch->first_unclaimed() < batch->num_arrays()) return batch;
  return nullptr;
}

void FenceState::copy_piece(FencedBatch& batch, size_t array, Lock& lock) noexcept {
  const FencedBatch::Piece piece = batch.claim(array);
  lock.unlock();
  internal::scheduling_point();
  std::exception_ptr error;
  try {
    fence_.copy(piece.copy.from, piece.copy.to, piece.begin, piece.end);
  } catch (...) {
    error = std::current_exception();
  }
  internal::scheduling_point();
  lock.lock();
  if (!batch.end_piece(array, std::move(error))) return;
  --num_pending_;
  changed_.notify_all();
  {
    // Writers do not wait for this: releasing may need what they hold, such as a lock.
    const FencedArray copied = batch.take(array);
    lock.unlock();
  }
  lock.lock();
  if (!batch.note_released()) return;
  std::erase_if(batches_, [&](const auto& each) { return each.get() == &batch; });
  lock.unlock();
  batch.announce();
  lock.lock();
}

}  // namespace crochet::inline v0::local
