// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/saver/save_ticket.h"

namespace crochet::inline v0::internal {

// The writer's side of a save: its reports are visible in ticket().
//
// A small value; copies report the same save. Thread-safe. In a forked process, as SaveTicket.
class CROCHET_EXPORT SavePromise {
 public:
  // A save that has reached kSnapshotted.
  SavePromise(std::string prefix, int64_t step, Clock& clock);

  const SaveTicket& ticket() const { return ticket_; }

  void begin_attempt();
  // A stage reached by an earlier attempt stays reached; its time is that of the last attempt.
  void reach(SaveStage stage);
  void set_num_bytes(uint64_t num_bytes, uint64_t shared_bytes = 0);
  // The state file names it; only the removal of older ones remains.
  void record_named();
  // Reaches kPublished.
  void publish(const std::string& location);
  // Has no effect on a save that has finished.
  void fail(const std::exception_ptr& error, SaveFault fault = SaveFault::kPlace) noexcept;

 private:
  void record_time(SaveStage stage);

  SaveTicket ticket_;
};

}  // namespace crochet::inline v0::internal
