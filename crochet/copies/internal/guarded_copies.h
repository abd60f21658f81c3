// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "crochet/base/internal/process_owner.h"
#include "crochet/copies/internal/copy_on_write_batch.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::internal {

class BarrierState;

// What a snapshot holds of a batch, for any time; its end is the end of the snapshot.
//
// In a forked child, all functions throw FailedPreconditionError if its parent had not made the
// copies.
class GuardedCopies final : public PendingCopies {
 public:
  // `state` is that of the batch's barrier, in this process.
  GuardedCopies(BarrierState& state, std::shared_ptr<CopyOnWriteBatch> batch);
  ~GuardedCopies() override;
  GuardedCopies(const GuardedCopies&) = delete;
  GuardedCopies& operator=(const GuardedCopies&) = delete;

  void wait() override;
  // Transposed arrays can only be copied as a whole.
  void wait_until_readable() override;
  bool is_pending(const Tensor& copy) const override;
  void read(const Tensor& copy, size_t begin, std::span<std::byte> into) override;
  uint64_t version_of(const Tensor& copy) const override;
  void record_unannounced_write(const Tensor& copy) noexcept override;

 private:
  const ProcessOwner owner_;
  BarrierState& state_;  // Kept by the batch.
  const std::shared_ptr<CopyOnWriteBatch> batch_;
};

}  // namespace crochet::inline v0::internal
