// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "crochet/copies/internal/copy_memory.h"
#include "crochet/engines/local/graph.h"
#include "crochet/session/internal/held_generators.h"
#include "crochet/session/parted_saveable.h"

namespace crochet::inline v0 {
class Tracker;
}  // namespace crochet::inline v0

namespace crochet::inline v0::internal {

// The state of a value whose structure may change: its parts are listed at each save, and their
// arrays copied by several threads to memory that is kept; at a restore they are made first.
// capture() guards arrays with a WriteBarrier, and copies only those that are written to.
class ProvidedState final : public PartedSaveable, public HoldableState {
 public:
  using Visit = std::function<void(Tracker& here)>;

  // `visit` lists the parts of a value, which outlives this, as the graph does. `name` is that of
  // the value, for messages. Throws: as Tracker's functions, for the parts as they are now.
  ProvidedState(local::Graph& graph, std::string name, Visit visit);
  ~ProvidedState() override;

  TensorMap save() const override;
  CapturedState capture() const override;
  std::vector<StatePart> parts_for(const StoredParts& stored) const override;
  std::vector<StatePart> present_parts(const StoredParts& stored) const override;
  void restore_parts(const StoredParts& stored, PartValues& values) override;

  std::shared_ptr<void> hold() override;
  bool has_generators() const override;

  // The progress of the first Epochs that the value owns now; unset if it owns none.
  std::optional<double> epochs() const;

 private:
  enum class CopyTime { kNow, kInBackground };
  // The state now; `when` is for arrays with a barrier.
  CapturedState copy(CopyTime when) const;

  std::vector<StatePart> parts_for(const StoredParts& stored, const StoredParts& layout) const;

  using Memory = std::map<std::string, CopyMemory, std::less<>>;
  Memory exchange_memory(Memory memory) const;

  local::Graph& graph_;
  const std::string name_;
  const Visit visit_;

  std::atomic<size_t> num_unread_ = 0;  // Parts that a restore has not given their values.

  mutable std::mutex memory_mutex_;  // Several threads may take snapshots.
  mutable Memory memory_;            // Of the arrays of the last save, by their names; or in use.
};

}  // namespace crochet::inline v0::internal
