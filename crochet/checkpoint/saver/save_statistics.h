// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "crochet/base/export.h"
#include "crochet/checkpoint/saver/save_ticket.h"

namespace crochet::inline v0 {

// The outcome of the saves of a run.
struct CROCHET_EXPORT SaveStatistics {
  // Checkpoints that were published, and those that failed.
  int64_t saved = 0;
  int64_t failed = 0;
  // Saves that were due while another one was being written, and were skipped.
  int64_t skipped = 0;
  // Attempts beyond the first of each save.
  int64_t retries = 0;
  // The number of saved checkpoints that went to the fallback directory.
  int64_t saved_in_fallback = 0;
  // The size of data and index of all saved checkpoints.
  uint64_t bytes = 0;
  // Of these, the bytes in files that a checkpoint shares with an earlier one, and that were not
  // written again.
  uint64_t shared_bytes = 0;
  // The time for which all saves together blocked training.
  double blocked_secs = 0;
  // The time from the snapshot to each stage, summed over all saved checkpoints.
  double written_secs = 0;
  double durable_secs = 0;
  double published_secs = 0;

  // Counts a save that has ended; an empty one counts neither as saved nor as failed.
  void add(const SaveTicket& ticket);
  // Adds those of another saver.
  void add(const SaveStatistics& other);
};

// "6 checkpoints, 1.2 GB, published on average 0.800 s after their snapshots, training was blocked
// for 0.010 s; 1 skipped; 2 retries"
CROCHET_EXPORT std::string to_string(const SaveStatistics& statistics);
CROCHET_EXPORT std::ostream& operator<<(std::ostream& out, const SaveStatistics& statistics);

}  // namespace crochet::inline v0
