// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/base/internal/thread.h"
#include "crochet/cloud/internal/local_checkpoints.h"
#include "crochet/cloud/internal/mirror.h"
#include "crochet/cloud/internal/object_store.h"
#include "crochet/io/file_system.h"
#include "crochet/journal/internal/journal.h"

namespace crochet::inline v0::cloud::internal {

// Where the checkpoints of a run are, and where they are copied to.
struct MirrorTask {
  std::string directory;
  std::string basename;
  FileSystem& files;
  std::shared_ptr<ObjectStore> store;
  S3Place place;
  int max_to_keep;
  int num_parallel;
  std::shared_ptr<crochet::internal::Journal> journal;  // May be null.
};

// Copies the checkpoints of a run's directory, the newest first, on a thread.
class MirrorThread {
 public:
  // Requires: what the task names, and `clock`, outlive this.
  MirrorThread(MirrorTask task, Clock& clock);
  // Ends at once, in the middle of a copy.
  ~MirrorThread();

  // Brings the newest sound copy back. Does nothing if there is none. Throws: DataLossError if no
  // copy is sound; as ObjectStore's functions; what the file system throws.
  void bring_newest_back();

  // Begins to copy. Does nothing if it has begun.
  void start();
  // There may be another checkpoint.
  void wake();
  // Waits until the newest checkpoint of the directory is copied, `secs` at most. What is
  // not copied then is logged, and recorded. Ends the thread.
  void finish(double secs);

  // "copying model.ckpt-200"; empty if nothing is being copied.
  std::string activity() const;

 private:
  void run();
  // The checkpoint to copy next; unset if there is none.
  std::optional<LocalCheckpoint> next();
  void copy(const LocalCheckpoint& checkpoint);
  // What is left in the store counts as copied.
  void tidy();
  void report_failure(const std::string& name, const std::string& reason);
  bool is_handled(const LocalCheckpoint& checkpoint) const;

  const MirrorTask task_;
  Clock& clock_;
  Mirror mirror_;

  // Of the thread alone.
  bool is_tidy_ = false;
  double kept_since_ = 0;  // Copies of earlier checkpoints would be removed, if not pinned.
  std::vector<LocalCheckpoint> handled_;
  std::string last_reason_;

  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  bool is_woken_ = false;
  bool is_ending_ = false;  // Nothing more is tried again.
  bool has_ended_ = false;
  std::string current_;  // Being copied.
  std::string failed_;   // The last one that was not copied, since the last that was.

  std::stop_source stop_;
  crochet::internal::Thread thread_;  // Last: it uses the rest.
};

}  // namespace crochet::inline v0::cloud::internal
