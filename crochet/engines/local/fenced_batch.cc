// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/fenced_batch.h"

#include <algorithm>
#include <cassert>
#include <new>

#include "crochet/engines/local/fence_state.h"

namespace crochet::inline v0::local {
namespace {

// As the pieces of a ParallelCopier: a writer waits for at most this much that another thread is
// copying, less than a millisecond.
constexpr size_t kFencedPieceBytes = size_t{1} << 21;

uintptr_t address(const std::byte* byte) { return reinterpret_cast<uintptr_t>(byte); }

}  // namespace

FencedBatch::FencedBatch(std::shared_ptr<WriteFence> fence, FenceState& state,
                         std::vector<FencedArray> arrays, SharedCopier::weak_type copier,
                         FencedCopies copies)
    : fence_(std::move(fence)),
      state_(state),
      copier_(std::move(copier)),
      copies_(copies),
      arrays_(std::move(arrays)),
      progress_(arrays_.size()),
      versions_(arrays_.size()),
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

void FencedBatch::set_versions(UnwrittenArrays& unwritten) {
  for (size_t i = 0; i < arrays_.size(); ++i) {
    const ArrayView& view = arrays_[i].copy.from;
    if (arrays_[i].identity)
      versions_[i] = unwritten.version_of(view.data, view.data + view.num_bytes(),
                                          std::move(arrays_[i].identity));
  }
}

bool FencedBatch::make_piece() { return state_.copy_piece_of(*this); }

void FencedBatch::copy_in_background(const std::shared_ptr<FencedBatch>& batch) {
  try {
    if (const auto copier = batch->copier_.lock()) (*copier)->do_in_background(batch);
  } catch (const std::bad_alloc&) {
    // Then those that need copies make them.
  }
}

void FencedBatch::note_unannounced_write() noexcept { fence_->note_unannounced_write(); }

std::optional<size_t> FencedBatch::array_of(const Tensor& copy) const {
  if (copy.dtype() == DType::kString) return std::nullopt;
  const auto found = arrays_by_copy_.find(copy.bytes().data());
  return found == arrays_by_copy_.end() ? std::nullopt : std::optional(found->second);
}

template <typename Accept>
std::optional<size_t> FencedBatch::find(const std::byte* begin, const std::byte* end,
                                        const Accept& accept) const {
  // From the last range that begins before the end, back to where none reaches the beginning.
  auto next = std::ranges::lower_bound(ranges_, address(end), {}, &Range::begin);
  while (next != ranges_.begin() && (--next)->reach > address(begin))
    if (next->end > address(begin) && accept(next->array)) return next->array;
  return std::nullopt;
}

bool FencedBatch::overlaps(const std::byte* begin, const std::byte* end) const {
  return find(begin, end, [](size_t) { return true; }).has_value();
}

std::optional<size_t> FencedBatch::find_pending(const std::byte* begin,
                                                const std::byte* end) const {
  return find(begin, end, [this](size_t array) { return !is_copied(array); });
}

size_t FencedBatch::first_unclaimed() {
  while (first_unclaimed_ < arrays_.size() && !has_unclaimed(first_unclaimed_)) ++first_unclaimed_;
  return first_unclaimed_;
}

bool FencedBatch::has_unclaimed(size_t array) const {
  // An array that is copied has been taken, so its size is not known.
  return !progress_[array].is_copied &&
         progress_[array].claimed < arrays_[array].copy.from.num_bytes();
}

FencedBatch::Piece FencedBatch::claim(size_t array) {
  assert(has_unclaimed(array));
  Progress& progress = progress_[array];
  const ParallelCopier::Copy& copy = arrays_[array].copy;
  const size_t unit = part_unit(copy.from);
  const size_t begin = progress.claimed;
  const size_t wanted = (kFencedPieceBytes + unit - 1) / unit * unit;
  progress.claimed += std::min(wanted, copy.from.num_bytes() - begin);
  ++progress.num_using;
  return {.copy = copy, .begin = begin, .end = progress.claimed};
}

const ParallelCopier::Copy& FencedBatch::begin_reading(size_t array) {
  assert(has_unclaimed(array));
  ++progress_[array].num_using;
  return arrays_[array].copy;
}

bool FencedBatch::abandon(size_t array) {
  Progress& progress = progress_[array];
  if (progress.is_copied) return false;
  progress.claimed = arrays_[array].copy.from.num_bytes();
  progress.is_copied = progress.num_using == 0;
  return progress.is_copied;
}

bool FencedBatch::end_use(size_t array) {
  Progress& progress = progress_[array];
  --progress.num_using;
  progress.is_copied = progress.num_using == 0 && !has_unclaimed(array);
  return progress.is_copied;
}

}  // namespace crochet::inline v0::local
