// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace crochet::inline v0::internal {

// Keeps memory as pending snapshots need it while the program continues, by watching writes.
// Watching costs something, so it begins with a snapshot, and is ended by settle().
//
// Thread-safe.
class Guard {
 public:
  virtual ~Guard() = default;

  // A snapshot begins.
  virtual void begin_snapshot() {}
  // Returns once the program may change everything without being watched, until the next snapshot.
  // The calling thread helps.
  virtual void drain() noexcept = 0;
  // True if settle() may end the watching; otherwise it does nothing.
  virtual bool may_settle() noexcept = 0;
  enum class EndedBy { kAnyThread, kSnapshotThread };
  // Ends the watching if nothing is pending and this thread may do it. True if it is ended now.
  virtual bool settle(EndedBy who) noexcept = 0;
};

}  // namespace crochet::inline v0::internal
