// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/copies/internal/guarded_copies.h"

#include <utility>

#include "crochet/copies/internal/barrier_state.h"

namespace crochet::inline v0::internal {
namespace {

constexpr const char* kWhat = "the copies of a snapshot";

}  // namespace

GuardedCopies::GuardedCopies(BarrierState& state, std::shared_ptr<CopyOnWriteBatch> batch)
    : state_(state), batch_(std::move(batch)) {}

GuardedCopies::~GuardedCopies() {
  if (owner_.is_here()) state_.end(*batch_);
}

void GuardedCopies::wait() {
  if (!batch_->is_done()) {
    owner_.check(kWhat);
    state_.copy_all(*batch_);
  }
  if (batch_->error()) std::rethrow_exception(batch_->error());
}

void GuardedCopies::wait_until_readable() {
  if (batch_->is_done()) return wait();
  owner_.check(kWhat);
  for (const size_t array : batch_->transposed()) batch_->copy(array);
}

bool GuardedCopies::is_pending(const Tensor& copy) const {
  const auto array = batch_->array_of(copy);
  if (!array) return false;
  if (batch_->is_done()) return batch_->error() != nullptr;
  owner_.check(kWhat);
  return !batch_->is_copied(*array);
}

uint64_t GuardedCopies::version_of(const Tensor& copy) const {
  const auto array = batch_->array_of(copy);
  return array ? batch_->version_of(*array) : 0;
}

void GuardedCopies::record_unannounced_write(const Tensor& copy) noexcept {
  if (batch_->array_of(copy)) batch_->barrier().record_unannounced_write();
}

void GuardedCopies::read(const Tensor& copy, size_t begin, std::span<std::byte> into) {
  owner_.check(kWhat);
  batch_->read(batch_->array_of(copy).value(), begin, into, copy);
}

}  // namespace crochet::inline v0::internal
