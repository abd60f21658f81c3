// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/fence_state.h"

#include <algorithm>
#include <cstring>

#include "crochet/base/scheduling_point.h"
#include "crochet/engines/local/write_fence.h"

namespace crochet::inline v0::local {

// A forked child has the fence as its parent left it, and none of the batches.
FenceState::FenceState(WriteFence& fence)
    : fence_(fence),
      phase_(fence.is_raised_ ? Phase::kRaised : Phase::kLowered),
      snapshot_thread_(std::this_thread::get_id()) {}

void FenceState::before_write(const std::byte* begin, const std::byte* end) noexcept {
  if (!has_pending() && !any_unwritten_.load(std::memory_order_acquire)) return;
  Lock lock(mutex_);
  unwritten_.note_write(begin, end);
  any_unwritten_ = !unwritten_.empty();
  note_write(begin, end, lock);
  // Each search begins again: the list of batches may have changed without the mutex.
  for (Place place = find_pending(begin, end); place.first; place = find_pending(begin, end))
    copy_pieces(*place.first, place.second, lock);
}

FenceState::Place FenceState::find_pending(const std::byte* begin, const std::byte* end) const {
  for (const std::shared_ptr<FencedBatch>& batch : batches_)
    if (const auto array = batch->find_pending(begin, end)) return {batch, *array};
  return {};
}

std::shared_ptr<FencedBatch> FenceState::find_unwritten(const std::byte* begin,
                                                        const std::byte* end) const {
  for (const std::shared_ptr<FencedBatch>& batch : batches_)
    if (!batch->is_written && batch->overlaps(begin, end)) return batch;
  return nullptr;
}

void FenceState::note_write(const std::byte* begin, const std::byte* end, Lock& lock) noexcept {
  while (const auto batch = find_unwritten(begin, end)) {
    batch->is_written = true;
    copies_early_ = true;
    ++num_written_;
    settle_batch(*batch);
    if (batch->is_copied_early || batch->is_done()) continue;
    lock.unlock();
    FencedBatch::copy_in_background(batch);
    lock.lock();
  }
}

void FenceState::begin_snapshot() {
  const Lock lock(mutex_);
  unwritten_.begin_snapshot();
  any_unwritten_ = !unwritten_.empty();
}

void FenceState::start(const std::shared_ptr<FencedBatch>& batch) {
  Lock lock(mutex_);
  batches_.reserve(batches_.size() + 1);
  ++num_batches_;  // Before the fence is raised, so that nobody lowers it meanwhile.
  try {
    raise(lock);
  } catch (...) {
    --num_batches_;
    changed_.notify_all();
    throw;
  }
  if (batch->copies() == FencedCopies::kOfWritten) batch->set_versions(unwritten_);
  any_unwritten_ = !unwritten_.empty();
  batches_.push_back(batch);
  snapshot_thread_ = std::this_thread::get_id();
  const bool copies_all = batch->copies() == FencedCopies::kOfAll;
  batch->is_copied_early = copies_early_ || copies_all;
  batch->is_written = copies_all;  // Its writes do not matter.
  batch->num_written_before = num_written_;
  lock.unlock();
  if (batch->is_copied_early) FencedBatch::copy_in_background(batch);
}

void FenceState::release(FencedBatch& batch) noexcept {
  Lock lock(mutex_);
  batch.is_released = true;
  if (batch.copies() == FencedCopies::kOfAll) return settle_batch(batch);
  if (batch.num_written_before == num_written_) copies_early_ = false;
  for (size_t array = 0; array < batch.num_arrays(); ++array)
    if (batch.abandon(array)) end_array(batch, array, lock);
  settle_batch(batch);
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

bool FenceState::may_settle() {
  const Lock lock(mutex_);
  return !has_pending() && !unwritten_.are_many();
}

bool FenceState::settle(LoweredBy who) noexcept {
  Lock lock(mutex_);
  if (phase_ != Phase::kRaised || has_pending()) return phase_ == Phase::kLowered;
  if (unwritten_.are_many()) return false;
  if (who == LoweredBy::kSnapshotThread && snapshot_thread_ != std::this_thread::get_id())
    return false;
  unwritten_.clear();
  any_unwritten_ = false;
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
  while (!batches_.empty()) {
    const std::shared_ptr<FencedBatch> batch = batches_.front();
    copy_all(*batch, lock);
    batch->is_written = true;
    settle_batch(*batch);
  }
  unwritten_.clear();
  any_unwritten_ = false;
}

void FenceState::copy(FencedBatch& batch, size_t array) noexcept {
  Lock lock(mutex_);
  copy_pieces(batch, array, lock);
}

void FenceState::copy(FencedBatch& batch) noexcept {
  Lock lock(mutex_);
  copy_all(batch, lock);
  batch.is_written = true;  // Whether anything does so does not matter now.
  settle_batch(batch);
}

void FenceState::copy_pieces(FencedBatch& batch, size_t array, Lock& lock) noexcept {
  while (batch.has_unclaimed(array)) copy_piece(batch, array, lock);
  changed_.wait(lock, [&] { return batch.is_copied(array); });
}

void FenceState::copy_all(FencedBatch& batch, Lock& lock) noexcept {
  for (size_t array = batch.first_unclaimed(); array < batch.num_arrays();
       array = batch.first_unclaimed())
    copy_piece(batch, array, lock);
  changed_.wait(lock, [&] { return batch.is_done(); });
}

void FenceState::read(FencedBatch& batch, size_t array, size_t begin, std::span<std::byte> into,
                      const Tensor& copy) {
  Lock lock(mutex_);
  if (batch.has_unclaimed(array)) {
    const ArrayView& from = batch.begin_reading(array).from;
    const std::exception_ptr error =
        copy_bytes(from, into.data() - begin, begin, begin + into.size(), lock);
    if (batch.end_use(array)) end_array(batch, array, lock);
    if (error) std::rethrow_exception(error);
    return;
  }
  changed_.wait(lock, [&] { return batch.is_copied(array); });
  if (batch.error()) std::rethrow_exception(batch.error());
  lock.unlock();
  std::memcpy(into.data(), copy.bytes().data() + begin, into.size());
}

bool FenceState::is_copied(const FencedBatch& batch, size_t array) {
  const Lock lock(mutex_);
  return batch.is_copied(array) && !batch.error();
}

void FenceState::copy_piece(FencedBatch& batch, size_t array, Lock& lock) noexcept {
  const FencedBatch::Piece piece = batch.claim(array);
  const std::exception_ptr error =
      copy_bytes(piece.copy.from, piece.copy.to, piece.begin, piece.end, lock);
  if (error) batch.note_error(error);
  if (batch.end_use(array)) end_array(batch, array, lock);
}

std::exception_ptr FenceState::copy_bytes(const ArrayView& from, std::byte* to, size_t begin,
                                          size_t end, Lock& lock) noexcept {
  lock.unlock();
  internal::scheduling_point();
  std::exception_ptr error;
  try {
    fence_.copy(from, to, begin, end);
  } catch (...) {
    error = std::current_exception();
  }
  internal::scheduling_point();
  lock.lock();
  return error;
}

void FenceState::end_array(FencedBatch& batch, size_t array, Lock& lock) noexcept {
  changed_.notify_all();
  {
    // Writers do not wait for this: releasing may need what they hold, such as a lock.
    const FencedArray copied = batch.take(array);
    lock.unlock();
  }
  lock.lock();
  if (!batch.note_released()) return;
  changed_.notify_all();
  settle_batch(batch);
}

void FenceState::settle_batch(FencedBatch& batch) noexcept {
  if (!batch.is_done() || !(batch.is_written || batch.is_released)) return;
  num_batches_ -= std::erase_if(batches_, [&](const auto& each) { return each.get() == &batch; });
}

}  // namespace crochet::inline v0::local
