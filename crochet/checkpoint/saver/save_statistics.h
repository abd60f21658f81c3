// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "crochet/checkpoint/saver/save_ticket.h"

namespace crochet {

// What became of the saves of a run.
struct SaveStatistics {
  // Checkpoints that were published, and that could not be.
  int64_t saved = 0;
  int64_t failed = 0;
  // Saves that were due while another one was being written, and not made.
  int64_t skipped = 0;
  // Attempts beyond the first of each save.
  int64_t retries = 0;
  // Of those that were saved, those that had to go to the fallback directory.
  int64_t saved_elsewhere = 0;
  // Of all that were saved: data and index.
  uint64_t bytes = 0;
  // For how long training stood still, for all saves together.
  double blocked_secs = 0;
  // From the snapshot to each stage, of all that were saved together.
  double written_secs = 0;
  double durable_secs = 0;
  double published_secs = 0;

  // Counts a save that has ended; one that had nothing to save is neither saved nor failed.
  void add(const SaveTicket& ticket);
};

// "6 checkpoints, 1.2 GB, published 0.800 s after their snapshots in the mean, training stood still
// for 0.010 s; 1 skipped; 2 retries"
std::string to_string(const SaveStatistics& statistics);

}  // namespace crochet
