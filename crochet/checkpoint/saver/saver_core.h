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
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crochet/checkpoint/directory/checkpoint_directory.h"
#include "crochet/checkpoint/directory/checkpoint_history.h"
#include "crochet/checkpoint/directory/retention_clock.h"
#include "crochet/checkpoint/file/checkpoint_reader.h"
#include "crochet/checkpoint/saver/restore_report.h"
#include "crochet/checkpoint/saver/save_ticket.h"
#include "crochet/checkpoint/saver/saver_options.h"
#include "crochet/session/session.h"
#include "crochet/session/state_operations.h"

namespace crochet::internal {

class StoredBundle;

// Whether a write heeds what the file system says of its free space.
enum class SpaceCheck {
  kRefuse,  // Without room for the whole checkpoint nothing is begun.
  kIgnore,  // It is tried all the same: what file systems say may be wrong.
};

// What a Saver is (saver.h tells what each function does), in a form that a worker can share: it
// may have a save to finish when the Saver is gone.
//
// Thread-safe; saves into the same directory come one after another.
class SaverCore {
 public:
  explicit SaverCore(SaverOptions options);

  const SaverOptions& options() const { return options_; }
  FileSystem& files() const { return files_; }
  Clock& clock() const { return clock_; }

  void build(const Graph& graph);
  std::string prefix_of(const std::string& save_path, std::optional<int64_t> global_step) const;
  void check_complete(const Session& session) const;
  Snapshot snapshot(Session& session, const std::string& prefix = {}) const;

  // Writes to ticket.prefix(). What an earlier attempt has made durable is not written again.
  void write(const Snapshot& snapshot, SaveTicket& ticket, SpaceCheck check = SpaceCheck::kRefuse);
  // Writes to the second directory. Requires: there is one; what the graph's own operations saved
  // is there.
  void write_to_fallback(const Snapshot& snapshot, SaveTicket& ticket);
  // False for an error that every attempt would meet, wherever it writes: the state is torn, or
  // cannot be stored. True if it is the directory that is wrong.
  bool may_try_again(const SaveTicket& ticket, const std::exception_ptr& error) const;
  // True if there is a second directory and the save may go there: the graph's own operations, if
  // they save, have decided where.
  bool can_fall_back(const Snapshot& snapshot, const SaveTicket& ticket) const;
  // The first, and if that fails and there is a second directory, the second.
  void write_somewhere(const Snapshot& snapshot, SaveTicket& ticket);
  // The second directory; "" if there is none.
  std::string fallback_dir() const;
  void set_fallback_dir(const std::string& directory);

  // Says that a write of this checkpoint will come, from another thread: restore_newest() waits
  // until all that was announced has been written or given up, that is, until the results are
  // destroyed. Metrics that are noted of it are kept. Requires: the saver outlives the result.
  std::shared_ptr<void> announce_write(const std::string& prefix);
  std::string save(Session& session, const std::string& save_path,
                   std::optional<int64_t> global_step);

  RestoreReport restore(Session& session, const std::string& prefix);
  std::optional<std::string> restore_newest(Session& session, const std::string& directory,
                                            const std::string& basename, RestoreReport* report);

  std::vector<std::string> last_checkpoints() const;
  void set_last_checkpoints(std::span<const std::string> prefixes);
  void set_last_checkpoints_with_time(
      std::span<const std::pair<std::string, double>> prefixes_and_times);
  void recover_last_checkpoints(std::span<const std::string> prefixes);

  void pin(const std::string& prefix);
  void unpin(const std::string& prefix);
  void record_metrics(const std::string& prefix, const std::map<std::string, double>& metrics);
  void note_metrics(const std::string& prefix, const std::map<std::string, double>& metrics);
  void write_noted_metrics();

  // The time by which retention counts hours, and which sidecars have.
  double retention_time() const;
  // An earlier process wrote this time.
  void catch_up(double time);

 private:
  // A checkpoint to restore, in its directory.
  struct Candidate {
    std::shared_ptr<CheckpointDirectory> directory;
    std::string prefix;
  };
  using ListCheckpoints = std::function<std::vector<std::string>(
      FileSystem& files, const std::string& directory, const std::string& basename)>;
  // Of the checkpoint with this prefix, which may still be to come.
  using NotedMetrics = std::pair<std::string, std::map<std::string, double>>;

  void check_built() const;
  bool is_empty(const Graph& graph) const;
  RestoreReport restore_from(Session& session, const CheckpointReader& reader) const;
  // The graph's own, if they are to save this session; else null. Throws: FailedPreconditionError
  // if they are to, and there are none.
  std::shared_ptr<StateOperations> operations_for(const Session& session) const;
  void log_operations_once(const StateOperations& operations, const Session& session) const;
  // Throws: FailedPreconditionError if a checkpoint that `operations` write, or crochet if they are
  // null, would lack state of the graph and the options do not allow that.
  void check_complete(const Graph& graph, const StateOperations* operations) const;
  // Has them save what is to become `prefix`, or, if they cannot, what is to have that name in the
  // second directory. An error is kept for write(), unless the session is lost.
  std::shared_ptr<StoredState> store(StateOperations& operations, Session& session,
                                     const std::string& prefix) const;
  std::shared_ptr<StoredBundle> store_at(StateOperations& operations, Session& session,
                                         const std::string& prefix) const;
  // True if it could be other than for an error that every directory would meet; `prefix` is where
  // it was met.
  bool may_help_to_try_again(const std::string& prefix, const std::exception_ptr& error) const;
  std::string fallback_prefix(const std::string& prefix) const;
  // True if the graph's own operations have saved it into the second directory.
  bool is_stored_elsewhere(const Snapshot& snapshot, const SaveTicket& ticket) const;
  RestoreReport restore_by(StateOperations& operations, Session& session,
                           const CheckpointReader& reader) const;
  // restore() for a checkpoint that was found by its index.
  RestoreReport restore_listed(Session& session, const Candidate& candidate) const;
  void wait_for_announced_writes();
  // Of both directories, the newest last.
  std::vector<Candidate> candidates(const std::string& directory, const std::string& basename,
                                    const ListCheckpoints& list) const;

  // Of data and index.
  struct Written {
    uint64_t num_bytes = 0;
    uint32_t index_crc32c = 0;
  };
  // What stands beside the data: the sidecar and the graph. `time` is that of the save by the
  // retention's clock.
  void write_notes(CheckpointDirectory& directory, const Snapshot& snapshot,
                   const SaveTicket& ticket, const std::string& prefix, double time,
                   const Written& written);
  // The directory of what is to become `prefix`, made if it is missing. Throws: as write().
  CheckpointDirectory directory_for(const SaveTicket& ticket, const std::string& prefix) const;
  // Publishes what the graph's own operations have written; what a failure leaves is removed.
  void write_stored(CheckpointDirectory& directory, const Snapshot& snapshot, SaveTicket& ticket,
                    const std::string& prefix, double time);
  void write_files(CheckpointDirectory& directory, const Snapshot& snapshot, SaveTicket& ticket,
                   const std::string& prefix, double time);
  // The same; what a failure leaves is removed.
  void write_or_clean_up(CheckpointDirectory& directory, const Snapshot& snapshot,
                         SaveTicket& ticket, const std::string& prefix, double time);
  // Requires: the mutex is held.
  std::vector<NotedMetrics>::iterator find_noted(const std::string& prefix);
  std::map<std::string, double> noted_metrics_of(const std::string& prefix);
  void forget_recorded_metrics(FileSystem& files, const std::string& prefix);
  // Throws: ResourceExhaustedError if there is no room.
  void check_room(FileSystem& files, const Snapshot& snapshot, const std::string& prefix) const;
  // Begins a new list if the present one is of another directory.
  void follow_directory(const std::string& directory);
  // Takes what is in the directory into the list, once for each path. False, with a line in the
  // log, if that cannot be read now.
  bool learn_history(const CheckpointDirectory& directory, const std::string& basename);
  // Lists nothing of what is there: what cannot be read cannot be removed either.
  void do_without_history(const std::string& directory, const std::string& basename);
  // Requires: mutex_ is held.
  void take_over(const FoundHistory& found);
  void set_history(std::vector<CheckpointRecord> records);
  // Puts a checkpoint at the end of the list, unless all are kept. Its metrics are in its sidecar.
  void note_published(FileSystem& files, const std::string& prefix, double time);
  // Asks the policies which of the listed checkpoints are to go, with no mutex held: they are
  // functions of the user's. Returns those.
  std::vector<std::string> sweep(FileSystem& files);
  // Replaces the state file by one that names the listed checkpoints but for these.
  void write_state_without(FileSystem& files, const std::vector<std::string>& surplus,
                           const std::string& newest);
  void remove_surplus(CheckpointDirectory& directory, const std::vector<std::string>& prefixes);
  // Keeps the newest max_to_keep there, and its state file.
  void tidy_fallback(CheckpointDirectory& directory, const std::string& newest);
  // Learns what the directory has, and sets damaged checkpoints aside, so that nothing takes them
  // for sound ones, if this process holds the lock. The state file follows if it is known what it
  // listed.
  void take_stock_after_restore(const std::string& directory, const std::string& basename,
                                const std::string& restored, const std::vector<Candidate>& damaged);

  const SaverOptions options_;
  const VariableSelection selection_;
  const std::vector<RetentionPolicy> policies_;
  FileSystem& files_;  // Not owned; outlives this.
  Clock& clock_;       // Not owned; outlives this.
  std::atomic<bool> built_;
  mutable std::atomic<bool> operations_logged_ = false;
  mutable std::atomic<bool> unsaved_logged_ = false;

  std::mutex writing_;  // Held by the one save that is being written.

  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable write_ended_;
  std::multiset<std::string> announced_;  // Prefixes.
  std::string fallback_dir_;
  CheckpointHistory history_;
  RetentionClock retention_clock_;
  std::vector<NotedMetrics> noted_metrics_;  // One for each prefix, the oldest first.
  std::optional<std::string> history_directory_;
  // "<directory>/<basename>" of the checkpoints in the list; unset: somebody else says what is in.
  std::optional<std::set<std::string>> learned_ = std::set<std::string>();
};

}  // namespace crochet::internal
