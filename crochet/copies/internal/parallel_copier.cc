// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/copies/internal/parallel_copier.h"

#include <algorithm>
#include <cassert>
#include <thread>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/internal/scheduling_point.h"
#include "crochet/copies/internal/announced_copies.h"

namespace crochet::inline v0::internal {
namespace {

constexpr int kMaxDefaultThreads = 4;
// Large enough that claiming a piece costs nothing, small enough that threads finish together: a
// millisecond or less.
constexpr size_t kPieceBytes = size_t{1} << 21;

int helpers_of(int num_threads) {
  if (num_threads > 0) return num_threads - 1;
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores, 1, kMaxDefaultThreads) - 1;
}

}  // namespace

// From byte `begin` of the first array through all arrays between to byte `end` of the last; if
// there is only one array, [begin, end) of it.
struct ParallelCopier::Piece {
  size_t first = 0;
  size_t begin = 0;
  size_t last = 0;
  size_t end = 0;
};

// Copies that belong together, and their progress. Guarded by the copier's mutex.
class ParallelCopier::Batch {
 public:
  explicit Batch(std::span<const Copy> copies) : copies_(copies) {}
  virtual ~Batch() = default;

  bool has_unclaimed() const { return array_ < copies_.size(); }
  bool is_done() const { return !has_unclaimed() && num_claimed_ == 0; }
  bool is_large() const {
    size_t sum = 0;
    for (const Copy& copy : copies_)
      if ((sum += copy.from.num_bytes()) > kPieceBytes) return true;
    return false;
  }

  Piece claim();
  // Called without the mutex.
  void make(const Piece& piece) const;
  void release() { --num_claimed_; }
  virtual BackgroundBatch* in_background() { return nullptr; }

 private:
  const std::span<const Copy> copies_;
  size_t array_ = 0;   // The first array that is not completely claimed, and
  size_t offset_ = 0;  // the offset of its unclaimed part.
  int num_claimed_ = 0;
};

ParallelCopier::Piece ParallelCopier::Batch::claim() {
  assert(has_unclaimed());
  Piece piece{.first = array_, .begin = offset_};
  size_t wanted = kPieceBytes;
  while (array_ < copies_.size() && wanted > 0) {
    const ArrayView& array = copies_[array_].from;
    const size_t unit = part_unit(array);
    const size_t rest = array.num_bytes() - offset_;
    const size_t taken = std::min(rest, (wanted + unit - 1) / unit * unit);
    piece.last = array_;
    piece.end = offset_ + taken;
    wanted -= std::min(wanted, taken);
    offset_ += taken;
    if (taken < rest) break;
    ++array_;
    offset_ = 0;
  }
  ++num_claimed_;
  return piece;
}

void ParallelCopier::Batch::make(const Piece& piece) const {
  for (size_t i = piece.first; i <= piece.last; ++i) {
    const Copy& copy = copies_[i];
    copy_out(copy.from, copy.to, i == piece.first ? piece.begin : 0,
             i == piece.last ? piece.end : copy.from.num_bytes());
  }
}

// Keeps itself alive until it is done, whether or not somebody waits for it.
class ParallelCopier::BackgroundBatch final : public Batch, public AnnouncedCopies {
 public:
  BackgroundBatch(std::vector<Copy> copies, std::vector<Tensor> holders)
      : Batch(copies), kept_copies_(std::move(copies)), holders_(std::move(holders)) {}

  BackgroundBatch* in_background() override { return this; }

  // Called once, without the mutex: it may free memory.
  void end() {
    const std::shared_ptr<BackgroundBatch> last = std::move(self);
    holders_.clear();
    announce();
  }

  std::shared_ptr<BackgroundBatch> self;

 private:
  const std::vector<Copy> kept_copies_;
  std::vector<Tensor> holders_;
};

ParallelCopier::ParallelCopier(int num_threads) : num_helpers_(helpers_of(num_threads)) {}

ParallelCopier::~ParallelCopier() {
  drain();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  threads_.clear();  // Joins them.
}

bool ParallelCopier::start_threads() {
  // At least one: without any, nothing could be copied in the background.
  try {
    while (static_cast<int>(threads_.size()) < std::max(1, num_helpers_))
      threads_.emplace_back(
          "copying", [this] { work(); }, Thread::Priority::kBackground);
  } catch (const ResourceExhaustedError&) {
    // The system has no more threads: callers that wait for copies make them.
  }
  return !threads_.empty();
}

void ParallelCopier::copy(std::span<const Copy> copies) {
  Batch batch(copies);
  if (num_helpers_ == 0 || !batch.is_large()) {
    while (batch.has_unclaimed()) batch.make(batch.claim());
    return;
  }
  std::unique_lock lock(mutex_);
  start_threads();
  batches_.insert(batches_.begin(), &batch);
  changed_.notify_all();
  while (batch.has_unclaimed()) make_piece(batch, lock);
  changed_.wait(lock, [&] { return batch.is_done(); });
}

std::shared_ptr<PendingCopies> ParallelCopier::copy_in_background(std::vector<Copy> copies,
                                                                  std::vector<Tensor> holders) {
  std::erase_if(copies, [](const Copy& copy) { return copy.from.num_bytes() == 0; });
  if (copies.empty()) return nullptr;
  const auto batch = std::make_shared<BackgroundBatch>(std::move(copies), std::move(holders));
  bool any_threads = false;
  {
    const std::lock_guard lock(mutex_);
    any_threads = start_threads();
    batches_.push_back(batch.get());
    batch->self = batch;
    ++num_background_;
  }
  changed_.notify_all();
  if (!any_threads) drain();
  return batch;
}

void ParallelCopier::drain() {
  if (num_background_ == 0) return;
  std::unique_lock lock(mutex_);
  while (num_background_ > 0) {
    if (batches_.empty()) {
      changed_.wait(lock);
    } else {
      make_piece(*batches_.front(), lock);
    }
  }
}

void ParallelCopier::make_piece(Batch& batch, std::unique_lock<std::mutex>& lock) {
  const Piece piece = batch.claim();
  if (!batch.has_unclaimed()) std::erase(batches_, &batch);
  lock.unlock();
  scheduling_point();
  batch.make(piece);
  scheduling_point();
  lock.lock();
  batch.release();
  if (!batch.is_done()) return;
  if (BackgroundBatch* const background = batch.in_background()) {
    lock.unlock();
    background->end();
    lock.lock();
    --num_background_;
  }
  changed_.notify_all();
}

void ParallelCopier::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !batches_.empty() || !works_.empty(); });
    if (!batches_.empty())
      make_piece(*batches_.front(), lock);
    else if (!works_.empty())
      make_piece_of_work(lock);
    else
      return;
  }
}

void ParallelCopier::do_in_background(std::shared_ptr<Work> work) {
  bool any_threads = false;
  {
    const std::lock_guard lock(mutex_);
    any_threads = start_threads();
    if (any_threads) works_.push_back(work);
  }
  changed_.notify_all();
  while (!any_threads && work->make_piece()) continue;
}

void ParallelCopier::make_piece_of_work(std::unique_lock<std::mutex>& lock) {
  std::shared_ptr<Work> work = works_.front();
  lock.unlock();
  const bool made = work->make_piece();
  lock.lock();
  if (!made) std::erase(works_, work);
  lock.unlock();
  work.reset();  // Without the mutex: it may be the last.
  lock.lock();
}

SharedCopier make_shared_copier(int num_threads) {
  return std::make_shared<PerProcess<ParallelCopier>>(
      [num_threads] { return std::make_unique<ParallelCopier>(num_threads); });
}

}  // namespace crochet::inline v0::internal
