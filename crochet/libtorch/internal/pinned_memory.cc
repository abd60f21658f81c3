// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/pinned_memory.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/types.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/libtorch/internal/error_message.h"
#include "crochet/libtorch/internal/tensor_memory.h"

namespace crochet::inline v0::libtorch::internal {
namespace {

// Free memory is dropped once this many times as many pieces have been lent as were ever held at
// once, and it was not among them: then several saves had no use for it.
constexpr uint64_t kUnusedRounds = 4;

}  // namespace

class PinnedMemory::Pool {
 public:
  std::shared_ptr<Piece> take(const at::Tensor& tensor) {
    std::vector<std::shared_ptr<Piece>> dropped;  // Freed without the mutex.
    const std::lock_guard lock(mutex_);
    if (++num_lent_ >= next_sweep_) sweep(dropped);
    std::shared_ptr<Piece> piece;
    if (const auto found = free_.find(kind_of(tensor)); found != free_.end()) {
      piece = std::move(found->second.piece);
      free_.erase(found);
    } else {
      piece = make(tensor);
    }
    most_held_ = std::max(most_held_, ++num_held_);
    return piece;
  }

  void give_back(std::shared_ptr<Piece> piece) noexcept {
    const std::lock_guard lock(mutex_);
    --num_held_;
    if (piece->is_abandoned()) return;
    try {
      Kind kind = kind_of(piece->memory());
      free_.emplace(std::move(kind), Free{std::move(piece), num_lent_});
    } catch (const std::bad_alloc&) {
      // Then it is freed.
    }
  }

  size_t num_free() {
    const std::lock_guard lock(mutex_);
    return free_.size();
  }

 private:
  // Pieces of one kind have the same type and sizes.
  using Kind = std::pair<at::ScalarType, std::vector<int64_t>>;
  struct Free {
    std::shared_ptr<Piece> piece;
    uint64_t since = 0;  // num_lent_ when it was given back.
  };

  static Kind kind_of(const at::Tensor& tensor) {
    return {tensor.scalar_type(), tensor.sizes().vec()};
  }

  std::shared_ptr<Piece> make(const at::Tensor& like) {
    const auto options = at::TensorOptions(like.scalar_type()).device(at::kCPU);
    if (pins_) {
      try {
        return std::make_shared<Piece>(at::empty(like.sizes(), options.pinned_memory(true)));
      } catch (const std::exception& error) {
        pins_ = false;
        const std::string message = fmt::format(
            "tensors on {} are copied to memory that is not page-locked, which makes saves slow: "
            "{}",
            like.device().str(), first_line(error));
        // Others have no such memory.
        like.device().is_cuda() ? log_warning(message) : log_debug(message);
      }
    }
    try {
      return std::make_shared<Piece>(at::empty(like.sizes(), options));
    } catch (const std::exception& error) {
      throw ResourceExhaustedError(
          fmt::format("no memory for a copy of {}: {}", describe(like), first_line(error)));
    }
  }

  void sweep(std::vector<std::shared_ptr<Piece>>& dropped) {
    const uint64_t kept = kUnusedRounds * most_held_;
    for (auto each = free_.begin(); each != free_.end();) {
      if (each->second.since + kept >= num_lent_) {
        ++each;
        continue;
      }
      dropped.push_back(std::move(each->second.piece));
      each = free_.erase(each);
    }
    next_sweep_ = num_lent_ + most_held_ + 1;
  }

  std::mutex mutex_;  // Guards what follows.
  std::multimap<Kind, Free> free_;
  uint64_t num_lent_ = 0;  // So far.
  uint64_t num_held_ = 0;  // Lent, and not given back.
  uint64_t most_held_ = 0;
  uint64_t next_sweep_ = 1;
  bool pins_ = true;
};

// What the tensor of a piece holds.
class PinnedMemory::Loan {
 public:
  Loan(std::shared_ptr<crochet::internal::PerProcess<Pool>> pool, std::shared_ptr<Piece> piece)
      : pool_(std::move(pool)), piece_(std::move(piece)) {}

  static void end(void* context) noexcept {
    auto* const loan = static_cast<Loan*>(context);
    if (!loan->owner_.is_here()) return crochet::internal::leave_to_parent(loan);
    (*loan->pool_)->give_back(std::move(loan->piece_));
    delete loan;
  }

 private:
  const crochet::internal::ProcessOwner owner_;
  const std::shared_ptr<crochet::internal::PerProcess<Pool>> pool_;
  std::shared_ptr<Piece> piece_;
};

PinnedMemory::PinnedMemory() : pool_(std::make_shared<crochet::internal::PerProcess<Pool>>()) {}

PinnedMemory::Lent PinnedMemory::lend(const at::Tensor& tensor) {
  std::shared_ptr<Piece> piece = (*pool_)->take(tensor);
  const at::Tensor& memory = piece->memory();
  auto loan = std::make_unique<Loan>(pool_, piece);
  Buffer buffer = Buffer::borrow(
      {static_cast<const std::byte*>(memory.data_ptr()), memory.nbytes()}, &Loan::end, loan.get());
  static_cast<void>(loan.release());
  return {
      .piece = std::move(piece),
      .tensor = Tensor::over_buffer(checked_dtype(tensor), shape_of(tensor), std::move(buffer))};
}

size_t PinnedMemory::num_free() { return (*pool_)->num_free(); }

}  // namespace crochet::inline v0::libtorch::internal
