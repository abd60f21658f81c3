// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/saver/save_ticket.h"
#include "crochet/session/internal/trace_span.h"

namespace crochet::inline v0::internal {

// What a run does in a window of its steps, for a trace: on the training thread, and the saves that
// are written meanwhile. What there is no memory for is missing.
class CROCHET_EXPORT RunTrace {
 public:
  bool is_on() const { return is_on_; }
  void begin(Clock::TimePoint now);
  // The time since the trace began.
  Clock::Duration since_begin(Clock::TimePoint now) const { return now - begin_; }
  // Requires: it is on.
  void add(std::string_view name, Clock::TimePoint start, Clock::TimePoint end) noexcept;
  // A save has begun: its snapshot was taken between these times. Also while there is no trace: one
  // may begin while it is being written.
  void follow(const SaveTicket& ticket, Clock::TimePoint begin, Clock::TimePoint taken) noexcept;
  // Ends the trace.
  std::vector<TraceSpan> take(Clock::TimePoint now);

 private:
  struct Save {
    SaveTicket ticket;
    Clock::TimePoint begin;
    Clock::TimePoint taken;
  };
  void add_stages(const Save& save, Clock::TimePoint now);

  bool is_on_ = false;
  Clock::TimePoint begin_;
  std::vector<TraceSpan> spans_;
  std::vector<Save> saves_;
};

}  // namespace crochet::inline v0::internal
