// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/checkpoint/directory/internal/checkpoint_list.h"
#include "crochet/checkpoint/saver/internal/noted_metrics.h"
#include "crochet/checkpoint/saver/internal/save_attempts.h"
#include "crochet/checkpoint/saver/internal/save_promise.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/checkpoint/saver/internal/stored_values.h"
#include "crochet/checkpoint/saver/internal/variable_selection.h"
#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/checkpoint/saver/saver_options.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The step of tickets and sidecars for a save without a step.
inline constexpr int64_t kNoStep = -1;

class CheckpointDirectory;

// Writes snapshots as checkpoints: free space, files, sidecar, state file, and the removal of older
// ones, in their own directory or in the fallback directory. A Saver shares it with a thread that
// may still have a save to finish when the Saver is destroyed.
//
// Thread-safe; saves to the same directory are serialised.
class Publisher {
 public:
  // Throws: InvalidArgumentError for options that are out of range or contradict each other.
  // Its checkpoints record that a restore applied the rules `rename`.
  Publisher(SaverOptions options, CheckpointListOptions list,
            const std::vector<StoredName>& rename);

  const SaverOptions& options() const { return options_; }
  // The part of a graph that is saved.
  const VariableSelection& selection() const { return selection_; }
  FileSystem& files() const { return files_; }
  Clock& clock() const { return clock_; }
  // The checkpoints of their own directory, not the fallback directory.
  CheckpointList& list() { return list_; }
  NotedMetrics& metrics() { return metrics_; }
  // The state was restored: the next checkpoint in each directory is written whole.
  void record_restore() noexcept { is_restored_ = true; }
  // What sidecars record from now on: see CheckpointSidecar.
  void set_went_back_to(std::string which);
  void set_initial_values(std::map<std::string, std::string> values);
  // What another saver of the same run recorded with these two.
  void record_as(const Publisher& other);
  // Whether this wrote the checkpoint: the same for any at a later step in its directory.
  bool has_published(const std::string& prefix) const;
  // For messages about what would be lost: "the newest checkpoint is d/model.ckpt-7, 12 min old".
  std::string newest_text() const;
  // See Saver.
  std::string prefix_of(const std::string& save_path, std::optional<int64_t> global_step) const;

  // Writes to promise.ticket().prefix(), as often as `attempts` says, and then to the fallback
  // directory, if there is one. A checkpoint that an earlier attempt made durable is not written
  // again. Calls `when_durable` as soon as the source's elements are no longer needed, and then
  // removes old checkpoints, which can take long.
  // Throws: SaveFailed, with the error of the last attempt in its own directory.
  using WhenDurable = std::function<void()>;
  void save(const SaveSource& source, SavePromise& promise, SaveAttempts& attempts,
            const WhenDurable& when_durable = {});
  // Throws: InvalidArgumentError for a state that no attempt could store. Does not wait for the
  // elements.
  void check_can_store(const std::string& prefix, const SaveSource& source) const;

  // The part of another rank is finally not written.
  void report_failed_part(const std::string& prefix, const std::exception_ptr& error) noexcept;

  // Empty if there is no fallback directory.
  const std::string& fallback_dir() const { return fallback_dir_; }
  // The prefix of the save there, after `error` of the last attempt in its own directory, which is
  // logged. Requires: there is one.
  std::string fall_back(const std::string& prefix, const std::exception_ptr& error,
                        int num_attempts) const;
  // That save failed, too; the error of its own directory is the one that counts.
  static void log_failed_fallback(const std::string& prefix, const std::exception_ptr& error);

  // Announces that another thread will write this checkpoint: wait_for_announced_writes() waits
  // until all announced writes have ended, that is, until the results are destroyed. Metrics noted
  // for it are kept.
  // Requires: this outlives the result.
  std::shared_ptr<void> announce_write(const std::string& prefix);
  // Throws: CancelledError if a signal asks the process to end.
  void wait_for_announced_writes();
  void record_metrics_later(const std::string& prefix,
                            const std::map<std::string, double>& metrics);

 private:
  // A checkpoint to be written, and the list it belongs to.
  struct Target;
  class Announcement;
  // Information about its files.
  struct Written {
    uint64_t num_bytes = 0;
    uint64_t shared_bytes = 0;  // Of these.
    uint32_t index_crc32c = 0;
  };

  // Writes to its own directory. Throws: SaveFailed for a snapshot that no attempt can save; errors
  // of the place as they are.
  void attempt(const SaveSource& source, SavePromise& promise, SpaceCheck check,
               const WhenDurable& when_durable);
  void write_to_fallback(const SaveSource& source, SavePromise& promise, const std::string& prefix);
  // So that a start finds what is in the fallback directory. Requires: writing_ is held.
  void prepare_record(const std::string& save_path);
  // True if there is a fallback directory and the save may go there: if the graph's own operations
  // save, the directory is already decided.
  bool can_fall_back(const SaveSource& source, const SaveTicket& ticket) const;

  // Creates its directory if it is missing. Throws: as save().
  Target target_of(const SaveTicket& ticket, const std::string& prefix, CheckpointList& list,
                   StoredValues& stored) const;
  // Makes it durable. Removes the files left by a failure.
  void make_durable(Target& target, const SaveSource& source, SavePromise& promise,
                    SpaceCheck check);
  // The same for files written by the graph's own operations, or by the ranks.
  void adopt_files(Target& target, ExternalBundle& external, const Snapshot& snapshot,
                   SavePromise& promise);
  // The same for a state that several ranks have together.
  void collect_parts(Target& target, const SaveSource& source, SavePromise& promise,
                     SpaceCheck check);
  // Writes another rank's part of it.
  void write_part(const SaveSource& source, SavePromise& promise, SpaceCheck check);
  // `prefix` is that of the part of `checkpoint`.
  void write_bundle(const CheckpointDirectory& directory, const std::string& prefix,
                    const std::string& checkpoint, const SaveSource& source, SpaceCheck check);
  // What a snapshot must be before it is published: whole, and all that it refers to durable.
  static void complete(const Snapshot& snapshot, const std::string& checkpoint);
  // True if checkpoints share the values that did not change.
  bool shares() const;
  // The values that need not be written. Throws: ResourceExhaustedError if there is no room for the
  // others, as `check` says.
  UnchangedValues find_unchanged(FileSystem& files, const std::string& prefix, StoredValues& stored,
                                 const Snapshot& snapshot, SpaceCheck check);
  // The writer of a checkpoint, or of a part of one, to which all values are added, in as many data
  // files. Links the files that have the unchanged values. If that fails, empties `unchanged`, so
  // that all values are written.
  std::unique_ptr<CheckpointWriter> new_writer(FileSystem& files, const std::string& prefix,
                                               int num_shards, StoredValues& stored,
                                               const SaveSource& source,
                                               UnchangedValues& unchanged) const;
  // Writes the sidecar and the meta graph.
  void write_notes(Target& target, const Snapshot& snapshot, int64_t step, const Written& written);
  void record_published(Target& target);
  // Lists it, asks the policies with `writing` released, replaces the state file and removes
  // checkpoints that no policy keeps.
  void tidy(Target& target, SavePromise& promise, std::unique_lock<std::mutex>& writing);
  // True if the graph's own operations have saved it to the fallback directory.
  bool is_stored_in_fallback(const SaveSource& source, const SaveTicket& ticket) const;

  const SaverOptions options_;
  const std::vector<std::string> renamed_;  // Rules, as text.
  const VariableSelection selection_;
  FileSystem& files_;  // Not owned; outlives this.
  Clock& clock_;       // Not owned; outlives this.
  CheckpointList list_;
  CheckpointList fallback_list_;
  const std::string fallback_dir_;  // An absolute path, or empty.
  NotedMetrics metrics_;

  std::mutex writing_;  // Held by the save that is being written. Guards what follows.
  StoredValues stored_;
  StoredValues fallback_stored_;
  std::string recorded_path_;  // The save path for which the record of the fallback is prepared.
  bool has_used_fallback_ = false;

  std::atomic<bool> is_restored_ = false;

  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable write_ended_;
  std::multiset<std::string> announced_;  // Prefixes.
  std::string went_back_to_;
  std::map<std::string, std::string> initial_values_;
  std::optional<std::string> first_published_;                                // Prefix.
  std::optional<std::pair<std::string, Clock::TimePoint>> newest_published_;  // And when.
};

}  // namespace crochet::inline v0::internal
