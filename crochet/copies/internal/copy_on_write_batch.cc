// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/copies/internal/copy_on_write_batch.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <utility>

#include "crochet/base/internal/scheduling_point.h"

namespace crochet::inline v0::internal {
namespace {

// As the pieces of a ParallelCopier: a writer waits for at most this much that another thread is
// copying, less than a millisecond.
constexpr size_t kGuardedPieceBytes = size_t{1} << 21;

uintptr_t address(const std::byte* byte) { return reinterpret_cast<uintptr_t>(byte); }

}  // namespace

CopyOnWriteBatch::CopyOnWriteBatch(std::shared_ptr<WriteBarrier> barrier,
                                   std::vector<GuardedArray> arrays, SharedCopier::weak_type copier)
    : barrier_(std::move(barrier)),
      copier_(std::move(copier)),
      versions_(arrays.size()),
      arrays_(std::move(arrays)),
      progress_(arrays_.size()),
      num_held_(arrays_.size()) {
  assert(!arrays_.empty());
  ranges_.reserve(arrays_.size());
  for (size_t i = 0; i < arrays_.size(); ++i) {
    const ArrayView& view = arrays_[i].copy.from;
    assert(view.num_bytes() > 0);
    ranges_.push_back(
        {.begin = address(view.data), .end = address(view.data) + view.num_bytes(), .array = i});
    arrays_by_copy_.emplace(arrays_[i].copy.to, i);
    if (part_unit(view) != 1) transposed_.push_back(i);
  }
  std::ranges::sort(ranges_, {}, &Range::begin);
  uintptr_t reach = 0;
  for (Range& range : ranges_) range.reach = reach = std::max(reach, range.end);
}

void CopyOnWriteBatch::set_versions(UnwrittenArrays& unwritten) {
  for (size_t i = 0; i < arrays_.size(); ++i) {
    const ArrayView& view = arrays_[i].copy.from;
    if (arrays_[i].identity)
      versions_[i] = unwritten.version_of(view.data, view.data + view.num_bytes(),
                                          std::move(arrays_[i].identity));
  }
}

std::optional<size_t> CopyOnWriteBatch::array_of(const Tensor& copy) const {
  if (copy.dtype() == DType::kString) return std::nullopt;
  const auto found = arrays_by_copy_.find(copy.bytes().data());
  return found == arrays_by_copy_.end() ? std::nullopt : std::optional(found->second);
}

bool CopyOnWriteBatch::is_copied(size_t array) const {
  const std::lock_guard lock(mutex_);
  return progress_[array].is_copied && !error_;
}

template <typename Accept>
std::optional<size_t> CopyOnWriteBatch::find(const std::byte* begin, const std::byte* end,
                                             const Accept& accept) const {
  // From the last range that begins before the end, back to where none reaches the beginning.
  auto next = std::ranges::lower_bound(ranges_, address(end), {}, &Range::begin);
  while (next != ranges_.begin() && (--next)->reach > address(begin))
    if (next->end > address(begin) && accept(next->array)) return next->array;
  return std::nullopt;
}

bool CopyOnWriteBatch::overlaps(const std::byte* begin, const std::byte* end) const {
  return find(begin, end, [](size_t) { return true; }).has_value();
}

std::optional<size_t> CopyOnWriteBatch::find_pending(const std::byte* begin,
                                                     const std::byte* end) const {
  const std::lock_guard lock(mutex_);
  return find(begin, end, [this](size_t array) { return !progress_[array].is_copied; });
}

void CopyOnWriteBatch::copy(size_t array) noexcept {
  while (const auto piece = claim(array)) copy_piece(*piece);
  wait_for(array);
}

void CopyOnWriteBatch::copy_all() noexcept {
  while (make_piece()) {
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_done(); });
}

bool CopyOnWriteBatch::make_piece() {
  const auto piece = claim_any();
  if (piece) copy_piece(*piece);
  return piece.has_value();
}

void CopyOnWriteBatch::copy_in_background(const std::shared_ptr<CopyOnWriteBatch>& batch) {
  try {
    if (const auto copier = batch->copier_.lock()) (*copier)->do_in_background(batch);
  } catch (const std::bad_alloc&) {
    // Then those that need copies make them.
  }
}

void CopyOnWriteBatch::read(size_t array, size_t begin, std::span<std::byte> into,
                            const Tensor& copy) {
  if (begin_reading(array)) {
    const std::exception_ptr error = copy_bytes(
        {.array = array, .begin = begin, .end = begin + into.size()}, into.data() - begin);
    end_use(array, nullptr);
    if (error) std::rethrow_exception(error);
    return;
  }
  wait_for(array);
  throw_error();
  std::memcpy(into.data(), copy.bytes().data() + begin, into.size());
}

void CopyOnWriteBatch::abandon() noexcept {
  for (size_t array = 0; array < progress_.size(); ++array) {
    {
      const std::lock_guard lock(mutex_);
      Progress& progress = progress_[array];
      if (progress.is_copied) continue;
      progress.claimed = arrays_[array].copy.from.num_bytes();
      progress.is_copied = progress.num_using == 0;
      if (!progress.is_copied) continue;
    }
    release(array);
  }
}

bool CopyOnWriteBatch::has_unclaimed(size_t array) const {
  // An array that is copied has been taken, so its size is not known.
  return !progress_[array].is_copied &&
         progress_[array].claimed < arrays_[array].copy.from.num_bytes();
}

CopyOnWriteBatch::Piece CopyOnWriteBatch::claim_piece_of(size_t array) {
  Progress& progress = progress_[array];
  const ArrayView& from = arrays_[array].copy.from;
  const size_t unit = part_unit(from);
  const size_t begin = progress.claimed;
  const size_t wanted = (kGuardedPieceBytes + unit - 1) / unit * unit;
  progress.claimed += std::min(wanted, from.num_bytes() - begin);
  ++progress.num_using;
  return {.array = array, .begin = begin, .end = progress.claimed};
}

std::optional<CopyOnWriteBatch::Piece> CopyOnWriteBatch::claim(size_t array) {
  const std::lock_guard lock(mutex_);
  if (!has_unclaimed(array)) return std::nullopt;
  return claim_piece_of(array);
}

std::optional<CopyOnWriteBatch::Piece> CopyOnWriteBatch::claim_any() {
  const std::lock_guard lock(mutex_);
  while (first_unclaimed_ < arrays_.size() && !has_unclaimed(first_unclaimed_)) ++first_unclaimed_;
  if (first_unclaimed_ == arrays_.size()) return std::nullopt;
  return claim_piece_of(first_unclaimed_);
}

bool CopyOnWriteBatch::begin_reading(size_t array) {
  const std::lock_guard lock(mutex_);
  if (!has_unclaimed(array)) return false;
  ++progress_[array].num_using;
  return true;
}

void CopyOnWriteBatch::copy_piece(const Piece& piece) noexcept {
  end_use(piece.array, copy_bytes(piece, arrays_[piece.array].copy.to));
}

std::exception_ptr CopyOnWriteBatch::copy_bytes(const Piece& piece, std::byte* to) noexcept {
  scheduling_point();
  std::exception_ptr error;
  try {
    barrier_->copy(arrays_[piece.array].copy.from, to, piece.begin, piece.end);
  } catch (...) {
    error = std::current_exception();
  }
  scheduling_point();
  return error;
}

void CopyOnWriteBatch::end_use(size_t array, const std::exception_ptr& error) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (error && !error_) error_ = error;
    Progress& progress = progress_[array];
    --progress.num_using;
    progress.is_copied = progress.num_using == 0 && !has_unclaimed(array);
    if (!progress.is_copied) return;
  }
  release(array);
}

void CopyOnWriteBatch::release(size_t array) noexcept {
  changed_.notify_all();
  // Nobody else uses it now.
  static_cast<void>(GuardedArray(std::move(arrays_[array])));
  {
    const std::lock_guard lock(mutex_);
    if (--num_held_ > 0) return;
  }
  changed_.notify_all();
}

void CopyOnWriteBatch::wait_for(size_t array) noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return progress_[array].is_copied; });
}

void CopyOnWriteBatch::throw_error() const {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

}  // namespace crochet::inline v0::internal
