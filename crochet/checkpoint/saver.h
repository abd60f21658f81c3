// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crochet/checkpoint/checkpoint_history.h"
#include "crochet/checkpoint/checkpoint_reader.h"
#include "crochet/checkpoint/restore_report.h"
#include "crochet/checkpoint/retention_clock.h"
#include "crochet/checkpoint/save_ticket.h"
#include "crochet/checkpoint/saver_options.h"
#include "crochet/session/session.h"

namespace crochet {

// Saves variables and objects of a graph as TensorFlow V2 checkpoints, keeps
// the newest ones, and restores them.
//
//   Saver saver;
//   saver.save(session, "runs/x/model.ckpt", step);    // runs/x/model.ckpt-100.index, ...
//
// On disk, in this order: data and index under temporary names, synced; the data
// renamed, its directory synced; the index renamed, the directory synced (from now on
// the checkpoint exists); the state file `checkpoint`, replaced; then older ones
// that no policy keeps are removed. docs/architecture.md follows one save.
//
// Before its first save as "<save_path>-<step>", a saver reads the state file and the directory:
// what an earlier process saved under that name counts for max_to_keep too. Retention is a matter
// of one directory: once a saver saves into another, it leaves alone what it saved before.
//
// Thread-safe; saves into the same directory come one after another.
class Saver {
 public:
  // Throws: InvalidArgumentError for options out of range or at odds with each other.
  explicit Saver(SaverOptions options = {});

  const SaverOptions& options() const { return options_; }

  // With defer_build, allows saving and restoring from now on: the graph is complete. Checks that
  // there is something to save. Does nothing otherwise, and when called again.
  // Throws: as snapshot().
  void build(const Graph& graph);

  // "<save_path>-<step>", or the path itself without a step. Throws: InvalidArgumentError if that
  // collides with the state file.
  std::string prefix_of(const std::string& save_path, std::optional<int64_t> global_step) const;

  // The state between two steps: the variables and objects to be saved.
  // Throws: InvalidArgumentError if there are none, unless allow_empty, or the graph lacks one that
  // is listed; FailedPreconditionError before build().
  Snapshot snapshot(Session& session) const;

  // Writes a snapshot that this saver took, and returns when it is published; an empty one needs no
  // file. Called from any thread. An older checkpoint that cannot be removed is logged, and tried
  // again after the next save.
  // Throws: what the file system throws; then no file of this save is left, or the
  // checkpoint is whole and only what comes after it is not done. Older ones are as they were.
  // InvalidArgumentError if the directory can be no directory.
  void write(const Snapshot& snapshot, SaveTicket& ticket);

  // Says that a write will come, from another thread: restore_newest() waits until all that was
  // announced has been written or given up, that is, until the results are destroyed.
  std::shared_ptr<void> announce_write();

  // Both in one: returns the prefix; "" if there was nothing to save.
  std::string save(Session& session, const std::string& save_path,
                   std::optional<int64_t> global_step = {});

  // Takes over the checkpoint `prefix`. All names, types and shapes are checked before anything is
  // overwritten, all checksums while reading. The state of hooks may be missing or too
  // much, with a warning.
  // Throws: InvalidArgumentError without such a checkpoint, and one that lists all that is
  // missing, too much or of another type or shape; NotFoundError with the list if nothing
  // else is wrong than that keys are missing; DataLossError for damaged files,
  // after which the state is undefined until another restore.
  RestoreReport restore(Session& session, const std::string& prefix);

  // Takes over the newest sound checkpoint "<basename>-<step>" of a directory; returns its prefix,
  // or nothing if the directory holds no checkpoint at all. Damaged ones are logged, skipped, and
  // renamed aside once a sound one is found. `report`, if given, is what restore() returns, and
  // says which ones were refused and why.
  // Throws: as restore(); DataLossError if there are checkpoints, none of them sound;
  // CancelledError if a signal asks the process to end.
  std::optional<std::string> restore_newest(Session& session, const std::string& directory,
                                            const std::string& basename,
                                            RestoreReport* report = nullptr);

  // Prefixes of the checkpoints that are listed in the state file, oldest first; none if all are
  // kept.
  std::vector<std::string> last_checkpoints() const;
  // Replaces that list. Without times it is not known when they were saved: they are never removed.
  void set_last_checkpoints(std::span<const std::string> prefixes);
  void set_last_checkpoints_with_time(
      std::span<const std::pair<std::string, double>> prefixes_and_times);
  // Replaces it by those of these checkpoints that are on disk, with the times at which
  // they were saved.
  void recover_last_checkpoints(std::span<const std::string> prefixes);

  // Keeps a checkpoint from being removed until unpin(), by this process and all others: it
  // is in the sidecar. Called from any thread. Throws: NotFoundError without such a checkpoint;
  // what the file system throws.
  void pin(const std::string& prefix);
  void unpin(const std::string& prefix);

  // Adds metrics to what is known of a checkpoint, by which the best are kept. Called from any
  // thread, also long after the save. Throws: as pin().
  void record_metrics(const std::string& prefix, const std::map<std::string, double>& metrics);
  // The same, without waiting for files: written with the checkpoint, if that is still to come, or
  // else with the next one.
  void note_metrics(const std::string& prefix, const std::map<std::string, double>& metrics);
  // Writes what was noted of checkpoints that are there. Never throws for files: a warning.
  void write_noted_metrics();

  FileSystem& files() const { return files_; }
  Clock& clock() const { return clock_; }

 private:
  void check_built() const;
  bool is_empty(const Graph& graph) const;
  RestoreReport restore_from(Session& session, const CheckpointReader& reader) const;
  // restore() for a checkpoint that was found by its index.
  RestoreReport restore_listed(Session& session, const std::string& prefix) const;
  void wait_for_announced_writes();

  void write_files(const Snapshot& snapshot, SaveTicket& ticket, double time);
  double retention_time() const;
  std::map<std::string, double> noted_metrics_of(const std::string& prefix) const;
  // Begins a new list if the present one is of another directory.
  void follow_directory(const std::string& directory);
  // Takes what is in the directory into the list, once for each path.
  void learn_history(const std::string& directory, const std::string& basename);
  void set_history(std::vector<CheckpointRecord> records);
  // Puts a checkpoint at the end of the list, unless all are kept. Its metrics are in its sidecar.
  void note_published(const std::string& prefix, double time);
  // Lists a checkpoint that was just published, and asks the policies which others are to go.
  // Returns those.
  std::vector<std::string> add_and_sweep(const std::string& prefix, double time);
  // Replaces the state file by one that names the listed checkpoints but for these.
  void write_state_without(const std::vector<std::string>& surplus, const std::string& newest);
  void remove_surplus(const std::vector<std::string>& prefixes);
  void note_verified(const std::string& prefix);
  // Renames damaged checkpoints, so that nothing takes them for sound ones.
  void set_aside_if_possible(const std::vector<RefusedCheckpoint>& damaged,
                             const std::string& newest);

  const SaverOptions options_;
  const internal::VariableSelection selection_;
  const std::vector<RetentionPolicy> policies_;
  FileSystem& files_;  // Not owned; outlives this.
  Clock& clock_;       // Not owned; outlives this.
  std::atomic<bool> built_;

  std::mutex writing_;   // Held by the one save that is being written.
  std::mutex removing_;  // Held while a checkpoint is removed, or pinned.

  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable write_ended_;
  int announced_writes_ = 0;
  internal::CheckpointHistory history_;
  internal::RetentionClock retention_clock_;
  // By prefix, the oldest first.
  std::vector<std::pair<std::string, std::map<std::string, double>>> noted_metrics_;
  std::optional<std::string> history_directory_;
  // "<directory>/<basename>" of the checkpoints in the list; unset: somebody else says what is in.
  std::optional<std::set<std::string>> learned_ = std::set<std::string>();
};

}  // namespace crochet
