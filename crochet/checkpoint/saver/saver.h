// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/process_bound.h"
#include "crochet/checkpoint/saver/restore_report.h"
#include "crochet/checkpoint/saver/save_promise.h"
#include "crochet/checkpoint/saver/save_source.h"
#include "crochet/checkpoint/saver/save_ticket.h"
#include "crochet/checkpoint/saver/saver_options.h"
#include "crochet/session/session.h"

namespace crochet {

class BackgroundSaver;
class CheckpointManager;
class CheckpointReader;
class StateOperations;

namespace internal {
class Publisher;
struct CheckpointListOptions;
struct RestoreCandidate;
}  // namespace internal

// Saves variables and objects of a graph as TensorFlow V2 checkpoints or safetensors, keeps
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
// Older checkpoints are removed under the directory's lock, that of the run which holds it or one
// taken for that moment: while another process holds it, they stay. Saves into a directory that
// this process has locked go into that very directory: once its path leads elsewhere they fail with
// FailedPreconditionError and change nothing.
//
// Before its first save as "<save_path>-<step>", a saver reads the state file and the directory:
// what an earlier process saved under that name counts for max_to_keep too. Retention is a matter
// of one directory: once a saver saves into another, it leaves alone what it saved before.
//
// A fallback directory (SaverOptions::fallback_dir) takes the checkpoints that cannot be written
// where they belong. It has a state file of its own and keeps its own max_to_keep newest; the first
// one's state file never names what is there. Restores take the newest sound checkpoint of both.
//
// A process that was forked since the saver was made cannot save, restore or ask by it: that throws
// FailedPreconditionError, which names both processes. It may make a saver of its own.
//
// Thread-safe; saves into the same directory come one after another.
class Saver {
 public:
  // Throws: InvalidArgumentError for options out of range or at odds with each other.
  explicit Saver(SaverOptions options = {});
  // Finishes what save_async() was given, retries included: see close().
  ~Saver();
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  const SaverOptions& options() const;

  // With defer_build, allows saving and restoring from now on: the graph is complete. Checks that
  // there is something to save. Does nothing otherwise, and when called again.
  // Throws: as snapshot().
  void build(const Graph& graph);

  // "<save_path>-<step>", or the path itself without a step. Throws: InvalidArgumentError if that
  // collides with the state file.
  std::string prefix_of(const std::string& save_path, std::optional<int64_t> global_step) const;

  // Checks that a checkpoint of this session would have all of the graph's state.
  // Throws: FailedPreconditionError that names what it would lack, unless
  // SaverOptions::unsaved_state allows it; what the graph's own operations throw if they cannot be
  // used.
  void check_complete(const Session& session) const;

  // The state between two steps: the variables and objects to be saved.
  // Throws: InvalidArgumentError if there are none, unless allow_empty, or the graph lacks one that
  // is listed; FailedPreconditionError before build(), and as check_complete().
  Snapshot snapshot(Session& session) const;
  // The same, to be written as `prefix`: where the graph's own operations save the variables
  // (SaverOptions::writer), they do so now, under a temporary name. Why they cannot is an error of
  // write(), unless the session is lost by it.
  // Throws besides: AbortedError, UnavailableError and CancelledError of those operations.
  SaveSource snapshot_for(Session& session, const std::string& prefix) const;

  // Writes what this saver took, and returns when it is published; an empty one needs no
  // file. Called from any thread. An older checkpoint that cannot be removed is logged, and tried
  // again after the next save.
  // Throws: what the file system throws; then no file of this save is left, or the
  // checkpoint is whole and only what comes after it is not done. Older ones are as they were.
  // InvalidArgumentError if the directory can be no directory; ResourceExhaustedError, before
  // anything is written, if the disk has not the room. With a fallback directory, that is tried
  // then.
  void write(const SaveSource& source, SavePromise& promise);

  // Both in one: returns the prefix; "" if there was nothing to save.
  std::string save(Session& session, const std::string& save_path,
                   std::optional<int64_t> global_step = {});

  // The same without waiting for the disk: takes the snapshot and returns; a worker of this saver's
  // own writes it, with the retries of BackgroundSaver. A save that is asked for while one is being
  // written waits for that one.
  //
  //   SaveTicket ticket = saver.save_async(session, "runs/x/model.ckpt", step);
  //   ticket.wait(SaveStage::kDurable);
  //
  // For one thread, with wait() and close().
  SaveTicket save_async(Session& session, const std::string& save_path, int64_t step);
  // Returns once all that save_async() was given is published or has failed; what failed stands in
  // the tickets. Throws: DeadlineExceededError after so many seconds, naming what is not saved
  // yet and the last checkpoint that is; the writing goes on.
  void wait(std::optional<double> deadline_secs = {});
  // The same; and if time is up, the worker is left behind with what it has: it needs neither this
  // saver nor the session any more, only file system and clock, and what policies refer to. Later
  // saves have a new one.
  void close(std::optional<double> deadline_secs = {});

  // Gives it a fallback directory (SaverOptions::fallback_dir), or another one; "" changes nothing.
  void set_fallback_dir(const std::string& directory);
  std::string fallback_dir() const;

  // Takes over the checkpoint `prefix`. All names, types and shapes are checked before anything is
  // overwritten, all checksums while reading. The state of hooks may be missing or too
  // much, with a warning.
  // Throws: InvalidArgumentError without such a checkpoint, and one that lists all that is
  // missing, too much or of another type or shape; NotFoundError with the list if nothing
  // else is wrong than that keys are missing; DataLossError for damaged files,
  // after which the state is undefined until another restore.
  RestoreReport restore(Session& session, const std::string& prefix);

  // Takes over the newest sound checkpoint "<basename>-<step>" of a directory and of the second
  // one, if there is one; returns its prefix, or nothing if they hold no checkpoint at all. Damaged
  // ones are logged and skipped; once a sound one is found they are renamed aside, if this process
  // holds the directory's lock: readers change nothing. `report`, if given, is
  // what restore() returns, and says which ones were refused and why. Throws: as restore();
  // DataLossError if there are checkpoints, none of them sound; CancelledError if a signal asks
  // the process to end.
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

  FileSystem& files() const;
  Clock& clock() const;

 private:
  friend class BackgroundSaver;
  friend class CheckpointManager;

  // With a list of its own kind.
  Saver(SaverOptions options, const internal::CheckpointListOptions& list);

  void check_built() const;
  bool is_empty(const Graph& graph) const;
  // Throws: FailedPreconditionError if a checkpoint that `operations` write, or crochet if they are
  // null, would lack state of the graph and the options do not allow that.
  void check_complete(const Graph& graph, const StateOperations* operations) const;
  // The objects' tensors and the meta graph.
  void add_rest(const Graph& graph, const std::vector<const RegisteredSaveable*>& objects,
                Snapshot& snapshot) const;
  // The graph's own operations if they save this session, otherwise null. Throws:
  // FailedPreconditionError if the options demand them and the graph has none.
  std::shared_ptr<StateOperations> operations_for(const Session& session) const;
  void log_operations_once(const StateOperations& operations, const Session& session) const;
  // Has them save what is to become `prefix`, or, if they cannot, what is to have that name in the
  // fallback directory. An error is kept for write(), unless the session is lost.
  std::shared_ptr<internal::ExternalBundle> store(StateOperations& operations, Session& session,
                                                  const std::string& prefix) const;
  RestoreReport restore_from(Session& session, const CheckpointReader& reader) const;
  RestoreReport restore_by(StateOperations& operations, Session& session,
                           const CheckpointReader& reader) const;
  // Learns what the directory has, and sets damaged checkpoints aside, so that nothing takes them
  // for sound ones, if this process holds the lock. The state file follows if it is known what it
  // listed.
  void take_stock_after_restore(const std::string& directory, const std::string& basename,
                                const std::string& restored,
                                const std::vector<internal::RestoreCandidate>& damaged);

  const ProcessBound<std::shared_ptr<internal::Publisher>> publisher_;
  std::atomic<bool> built_;
  mutable std::atomic<bool> operations_logged_ = false;
  mutable std::atomic<bool> unsaved_logged_ = false;
  std::unique_ptr<BackgroundSaver> background_;  // Made by the first save_async().
};

}  // namespace crochet
