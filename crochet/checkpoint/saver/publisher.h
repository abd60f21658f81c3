// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/checkpoint/directory/checkpoint_list.h"
#include "crochet/checkpoint/saver/noted_metrics.h"
#include "crochet/checkpoint/saver/save_promise.h"
#include "crochet/checkpoint/saver/save_source.h"
#include "crochet/checkpoint/saver/saver_options.h"
#include "crochet/io/file_system.h"

namespace crochet::internal {

// What tickets and sidecars have for a save without a step.
inline constexpr int64_t kNoStep = -1;

// Whether a write heeds what the file system says of its free space.
enum class SpaceCheck {
  kRefuse,  // Without room for the whole checkpoint nothing is begun.
  kIgnore,  // It is tried all the same: what file systems say may be wrong.
};

// Makes checkpoints of snapshots: room, files, sidecar, state file, and the removal of older ones,
// in the directory where they belong or in the fallback directory. A Saver shares it with a thread
// that may have a save to finish when the Saver is gone.
//
// Thread-safe; saves into the same directory come one after another.
class Publisher {
 public:
  // Throws: InvalidArgumentError for options out of range or at odds with each other.
  Publisher(SaverOptions options, CheckpointListOptions list);

  const SaverOptions& options() const { return options_; }
  // What of a graph is saved.
  const VariableSelection& selection() const { return selection_; }
  FileSystem& files() const { return files_; }
  Clock& clock() const { return clock_; }
  // The checkpoints of the directory where they belong.
  CheckpointList& list() { return list_; }
  NotedMetrics& metrics() { return metrics_; }
  // See Saver.
  std::string prefix_of(const std::string& save_path, std::optional<int64_t> global_step) const;

  // Writes to promise.ticket().prefix(). What an earlier attempt has made durable is not written
  // again.
  void write(const SaveSource& source, SavePromise& promise,
             SpaceCheck check = SpaceCheck::kRefuse);
  // Writes to the fallback directory. Requires: there is one; what the graph's own operations saved
  // is there.
  void write_to_fallback(const SaveSource& source, SavePromise& promise);
  // The first, and if that fails and there is a fallback directory, the second.
  void write_somewhere(const SaveSource& source, SavePromise& promise);

  // False for an error that every attempt to write `prefix` would meet, wherever it goes: the state
  // is torn, or cannot be stored. True if it is the directory that is wrong.
  bool may_try_again(const std::string& prefix, const std::exception_ptr& error) const;
  // True if there is a fallback directory and the save may go there: the graph's own operations, if
  // they save, have decided where.
  bool can_fall_back(const SaveSource& source, const SaveTicket& ticket) const;
  // Empty if it has no fallback directory.
  std::string fallback_dir() const;
  void set_fallback_dir(const std::string& directory);
  std::string fallback_prefix(const std::string& prefix) const;

  // Says that a write of this checkpoint will come, from another thread:
  // wait_for_announced_writes() waits until all that was announced has been written or given up,
  // that is, until the results are destroyed. Metrics that are noted of it are kept.
  // Requires: this outlives the result.
  std::shared_ptr<void> announce_write(const std::string& prefix);
  // Throws: CancelledError if a signal asks the process to end.
  void wait_for_announced_writes();
  void note_metrics(const std::string& prefix, const std::map<std::string, double>& metrics);

 private:
  // A checkpoint to be, and where it is listed.
  struct Target;
  // What is known of its files.
  struct Written {
    uint64_t num_bytes = 0;
    uint32_t index_crc32c = 0;
  };

  // Makes its directory if it is missing. Throws: as write().
  Target target_of(const SaveTicket& ticket, const std::string& prefix, CheckpointList& list) const;
  // Makes it durable. What a failure leaves is removed.
  void make_durable(Target& target, const SaveSource& source, SavePromise& promise,
                    SpaceCheck check);
  void write_files(Target& target, const Snapshot& snapshot, SavePromise& promise);
  // The same for what the graph's own operations have written.
  void adopt_files(Target& target, const SaveSource& source, SavePromise& promise);
  // What stands beside the data: the sidecar and the graph.
  void write_notes(Target& target, const Snapshot& snapshot, int64_t step, const Written& written);
  void note_published(Target& target);
  // Lists it, asks the policies with `writing` released, replaces the state file and removes what
  // no policy keeps.
  void tidy(Target& target, SavePromise& promise, std::unique_lock<std::mutex>& writing);
  // True if the graph's own operations have saved it into the fallback directory.
  bool is_stored_elsewhere(const SaveSource& source, const SaveTicket& ticket) const;

  const SaverOptions options_;
  const VariableSelection selection_;
  FileSystem& files_;  // Not owned; outlives this.
  Clock& clock_;       // Not owned; outlives this.
  CheckpointList list_;
  CheckpointList fallback_list_;
  NotedMetrics metrics_;

  std::mutex writing_;  // Held by the one save that is being written.

  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable write_ended_;
  std::multiset<std::string> announced_;  // Prefixes.
  std::string fallback_dir_;
};

}  // namespace crochet::internal
