// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/base/internal/no_options.h"
#include "crochet/base/internal/process_bound.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/checkpoint/saver/save_ticket.h"
#include "crochet/checkpoint/saver/saver_options.h"
#include "crochet/session/graph.h"
#include "crochet/session/session.h"

namespace crochet::inline v0 {

class CheckpointManager;
class CheckpointReader;

namespace internal {
class BackgroundSaver;
class ExternalBundle;
class JointSave;
class Publisher;
class SavePromise;
class SaveSource;
class StateOperations;
struct RestoreRules;
struct SaverAccess;
struct CheckpointListOptions;
struct RestoreCandidate;
struct UnusedCheckpoints;
enum class Unused;
}  // namespace internal

// Saves variables and objects of a graph as TensorFlow V2 checkpoints or as safetensors, keeps
// the newest ones, and restores them.
//
//   Saver saver;
//   saver.save(session, "runs/x/model.ckpt", step);    // runs/x/model.ckpt-100.index, ...
//
// The order on disk: data and index are written under temporary names and synced; the data is
// renamed and its directory synced; the index is renamed and the directory synced (from now on
// the checkpoint exists); the state file `checkpoint` is replaced; then older checkpoints
// that no policy keeps are removed. docs/architecture.md describes one save step by step.
//
// Older checkpoints are removed under the directory's lock, which the run holds or which is taken
// for the removal: while another process holds it, they are kept. Saves to a directory that this
// process has locked only go to that directory: once its path leads to another one, they fail with
// FailedPreconditionError and change nothing.
//
// Before its first save as "<save_path>-<step>", a saver reads the state file and the directory:
// checkpoints saved by an earlier process under that name count for max_to_keep too. Retention
// applies to one directory: once a saver saves to another, the earlier checkpoints are left alone.
//
// A fallback directory (SaverOptions::fallback_dir) receives the checkpoints that cannot be written
// to their own directory. It has its own state file and keeps its own max_to_keep newest; the state
// file of the own directory never names them. Restores use the newest sound checkpoint of both.
//
// A process that was forked after the saver was created cannot use it to save, restore or query:
// that throws FailedPreconditionError, which names both processes. It may create its own saver.
//
// Thread-safe; saves to the same directory are serialised.
class CROCHET_EXPORT Saver {
 public:
  // `restore` says what may differ in what it restores; `which` is for restore_newest(). Throws:
  // InvalidArgumentError for options that are out of range, contradict each other or have no
  // effect.
  explicit Saver(SaverOptions options = {}, RestoreOptions restore = {});
  explicit Saver(internal::NoOptions) : Saver() {}
  // Finishes all saves of save_async(), including retries: see close().
  ~Saver();
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  const SaverOptions& options() const;
  const RestoreOptions& restore_options() const { return restore_options_; }

  // With defer_build, allows saving and restoring from now on: the graph is complete. Checks that
  // there is something to save. Without defer_build, and when called again, does nothing.
  // Throws: as snapshot().
  void build(const Graph& graph);

  // "<save_path>-<step>", or the path itself without a step. Throws: InvalidArgumentError if that
  // collides with the state file.
  std::string prefix_of(const std::string& save_path, std::optional<int64_t> global_step) const;

  // Checks that a checkpoint of this session would have all of the graph's state.
  // Throws: FailedPreconditionError that names the missing state, unless
  // SaverOptions::unsaved_state allows it; the error of the graph's own operations if they cannot
  // be used.
  void check_complete(const Session& session) const;

  // The state between two steps: the variables and objects to be saved.
  // Throws: InvalidArgumentError if there are none (unless allow_empty) or the graph lacks one that
  // is listed; FailedPreconditionError before build(), and as check_complete().
  Snapshot snapshot(Session& session) const;

  // Takes a snapshot and writes it. Returns the prefix; "" if there was nothing to save.
  std::string save(Session& session, const std::string& save_path,
                   std::optional<int64_t> global_step = {});

  // The same without waiting for the disk: takes the snapshot and returns; a thread of this saver
  // writes it, with the retries of BackgroundSaver. A call while another save is being written
  // waits for that save.
  //
  //   SaveTicket ticket = saver.save_async(session, "runs/x/model.ckpt", step);
  //   ticket.wait(SaveStage::kDurable);
  //
  // Not thread-safe, together with wait() and close().
  SaveTicket save_async(Session& session, const std::string& save_path, int64_t step);
  // Returns once all saves of save_async() are published or have failed; the tickets have the
  // errors. Throws: DeadlineExceededError after `deadline_secs` seconds, which names the saves that
  // are not complete and the last published checkpoint; writing continues.
  void wait(std::optional<double> deadline_secs = {});
  // The same; and after the deadline, the thread is detached with its remaining work: it no longer
  // needs this saver or the session, only the file system, the clock, and what the policies refer
  // to. Later saves have a new thread.
  void close(std::optional<double> deadline_secs = {});

  // SaverOptions::fallback_dir, as an absolute path.
  const std::string& fallback_dir() const;
  // For a log line at a bad end: which checkpoint this process has written last, and how old it is.
  std::string newest_text() const;

  // Restores the checkpoint `prefix`. All names, types and shapes are checked before anything is
  // overwritten, all checksums while reading. Missing or surplus state of hooks only causes a
  // warning.
  // Throws: InvalidArgumentError if the checkpoint does not exist, or with a list of everything
  // that is missing, surplus or of another type or shape; NotFoundError with that list if the only
  // problem is missing keys; DataLossError for damaged files, after which the state is undefined
  // until another restore.
  RestoreReport restore(Session& session, const std::string& prefix);
  // The same for a checkpoint of the saver's own run, as restore_newest() restores it: rules of
  // RestoreOptions::rename that it was saved with are not applied again.
  // `initialize`, if given, initializes the state that no checkpoint has, and must be called
  // between variables and what depends on that state, such as iterators. It is called if the
  // graph's own operations restore more than variables, otherwise not: the caller does it
  // afterwards.
  RestoreReport resume(Session& session, const std::string& prefix,
                       const std::function<void()>& initialize = {});

  // Restores the newest sound checkpoint "<basename>-<step>" of a directory and of the fallback
  // directory, if there is one. Returns the result of restore(), and the damaged checkpoints with
  // the reasons; nullopt if they hold no checkpoint at all. Damaged ones are logged and skipped;
  // once a sound one is found they are renamed if this process holds the directory's lock: readers
  // change nothing. Throws: as restore(); DataLossError if there are checkpoints but none is sound;
  // CancelledError if a signal asks the process to end.
  std::optional<RestoreReport> restore_newest(Session& session, const std::string& directory,
                                              const CheckpointBasename& basename,
                                              const std::function<void()>& initialize = {});

  // Prefixes of the checkpoints that are listed in the state file, oldest first; empty if all are
  // kept.
  std::vector<std::string> last_checkpoints() const;
  // Replaces that list. Without times, they have no known age and are never removed.
  void set_last_checkpoints(std::span<const std::string> prefixes);
  void set_last_checkpoints_with_time(
      std::span<const std::pair<std::string, double>> prefixes_and_times);
  // Replaces that list with those of `prefixes` that are on disk, with the times at which they were
  // saved.
  void recover_last_checkpoints(std::span<const std::string> prefixes);

  // Prevents the removal of a checkpoint, by this and any other process, until unpin(): the sidecar
  // records it. May be called on any thread. Throws: NotFoundError if there is no such checkpoint;
  // the file system's error.
  void pin(const std::string& prefix);
  void unpin(const std::string& prefix);

  // Adds metrics to a checkpoint's sidecar; keep_best uses them. May be called on any thread, even
  // long after the save. Throws: as pin().
  void record_metrics(const std::string& prefix, const std::map<std::string, double>& metrics);
  // The same without waiting for the disk: written with the checkpoint if it is not saved yet,
  // otherwise with the next one.
  void record_metrics_later(const std::string& prefix,
                            const std::map<std::string, double>& metrics);
  // Writes the noted metrics of checkpoints that exist. Errors of files are logged, not thrown.
  void write_noted_metrics();

  FileSystem& files() const;
  Clock& clock() const;

 private:
  friend class internal::BackgroundSaver;
  friend class CheckpointManager;
  friend struct internal::SaverAccess;

  // As snapshot(), to be written as `prefix`: if the graph's own operations save the variables
  // (SaverOptions::writer), they do so now, under a temporary name. If they fail, write() throws
  // their error, unless the session is lost.
  // `writer`, if given, counts instead of SaverOptions::writer.
  // Also throws: AbortedError, UnavailableError and CancelledError of those operations.
  // `others`, unless null, have parts of the state.
  internal::SaveSource snapshot_for(Session& session, const std::string& prefix,
                                    internal::JointSave* others,
                                    std::optional<StateWriter> writer = {}) const;

  // This rank's part of the state that several ranks have together, to be written as `part_prefix`,
  // where the chief's save expects it: only what is this rank's own.
  internal::SaveSource snapshot_of_part(Session& session, const std::string& part_prefix) const;

  // Writes a snapshot taken by this saver, and returns when it is published; writes no file for an
  // empty one. May be called on any thread. If an older checkpoint cannot be removed, that is
  // logged, and tried again after the next save.
  // Throws: the file system's error; then either no file of this save is left, or the checkpoint
  // is complete and only later work is missing. Older ones are unchanged.
  // InvalidArgumentError if the directory is not a directory; ResourceExhaustedError, before
  // anything is written, if the disk has too little free space. With a fallback directory, these
  // errors of the directory are thrown only if that one fails, too.
  void write(const internal::SaveSource& source, internal::SavePromise& promise);
  // save(), with the others that have parts of the state.
  std::string save_with(internal::JointSave* others, Session& session, const std::string& save_path,
                        std::optional<int64_t> global_step);

  // Makes restore_newest() skip a checkpoint, as one that is damaged: another rank found that.
  void refuse(const std::string& prefix, std::string reason);
  // Has the next restore_newest() that succeeds go back to the newest checkpoint of this step or an
  // earlier one, and abandon the newer ones; to the oldest if all are newer.
  void go_back_to(int64_t step) { latest_start_ = step; }
  // While this is true, restore_newest() renames nothing: other ranks may still refuse what it has
  // restored. Once it is false again, renames what set_unused_aside() does.
  void hold_unused(bool held);
  // Renames the checkpoints that the last restore_newest() found damaged, or abandoned, if it could
  // not because this process did not hold the directory's lock, and does now.
  void set_unused_aside();

  // With other options for the list.
  Saver(SaverOptions options, const internal::CheckpointListOptions& list,
        RestoreOptions restore = {});

  void check_built() const;
  bool is_empty(const Graph& graph) const;
  // Throws: FailedPreconditionError if a checkpoint written by `operations`, or by crochet if they
  // are null, would lack state of the graph and the options do not allow that.
  void check_complete(const Graph& graph, const internal::StateOperations* operations) const;
  // The graph's own operations if they save this session, otherwise null. Throws:
  // FailedPreconditionError if `writer`, or without it the options, require them and the graph has
  // none.
  std::shared_ptr<internal::StateOperations> operations_for(
      const Session& session, std::optional<StateWriter> writer = {}) const;
  void log_operations_once(const internal::StateOperations& operations,
                           const Session& session) const;
  // Lets them save the files of `prefix`, or, if they fail, of the same name in the fallback
  // directory. An error is kept for write(), unless the session is lost.
  std::shared_ptr<internal::ExternalBundle> store(internal::StateOperations& operations,
                                                  Session& session,
                                                  const std::string& prefix) const;
  // What a checkpoint may be: a run's own one already has the names that rules gave its values.
  enum class Origin { kOwnRun, kAny };
  internal::RestoreRules rules_for(const std::string& prefix, Origin origin) const;
  RestoreReport restore_from(Session& session, const CheckpointReader& reader, Origin origin,
                             const std::function<void()>& initialize);
  RestoreReport restore_existing(Session& session, const std::string& prefix, Origin origin,
                                 const std::function<void()>& initialize);
  RestoreReport restore_by(internal::StateOperations& operations, Session& session,
                           const CheckpointReader& reader,
                           const std::function<void()>& initialize) const;
  void record_initial_values(Session& session);
  void warn_of_other_settings(Session& session, const std::string& prefix);
  bool has_gone_back(const std::vector<internal::RestoreCandidate>& candidates,
                     const std::string& directory, const std::string& basename) const;
  [[noreturn]] void throw_cannot_go_back(
      const std::string& prefix, const std::string& reason,
      const std::vector<internal::RestoreCandidate>& others) const;
  std::vector<internal::RestoreCandidate> abandon_newer(
      std::vector<internal::RestoreCandidate>& candidates, const std::string& directory) const;
  // The same for go_back_to().
  std::vector<internal::RestoreCandidate> abandon_later(
      std::vector<internal::RestoreCandidate>& candidates) const;
  void record_restored(const internal::RestoreCandidate& restored,
                       internal::UnusedCheckpoints unused);
  void set_aside(const std::vector<internal::RestoreCandidate>& checkpoints,
                 internal::Unused why) const;

  const RestoreOptions restore_options_;
  const internal::ProcessBound<std::shared_ptr<internal::Publisher>> publisher_;
  // Of a saver that keeps checkpoints of the same run elsewhere.
  std::weak_ptr<internal::Publisher> other_;
  std::atomic<bool> built_;
  mutable std::atomic<bool> operations_logged_ = false;
  mutable bool has_checked_state_ = false;  // That the first snapshot can be stored.
  mutable std::atomic<bool> unsaved_logged_ = false;
  std::shared_ptr<internal::BackgroundSaver> background_;  // Made by the first save_async().
  std::shared_ptr<internal::UnusedCheckpoints> unused_;    // Not yet set aside.
  bool holds_unused_ = false;
  std::optional<int64_t> latest_start_;                 // Of the next restore_newest().
  bool has_started_ = false;                            // restore_newest() has returned.
  mutable std::map<std::string, std::string> refused_;  // With reasons, by prefix.
};

// Makes `saver` the saver of the graph: Scaffold and CheckpointSaverHook use it unless they have
// one of their own. TensorFlow's collection SAVERS.
CROCHET_EXPORT void register_saver(Graph& graph, std::shared_ptr<Saver> saver);

// The saver of the graph; null if it has none. Throws: FailedPreconditionError if several
// were registered.
CROCHET_EXPORT std::shared_ptr<Saver> registered_saver(const Graph& graph);

}  // namespace crochet::inline v0
