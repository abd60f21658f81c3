// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/checkpoint/save_ticket.h"
#include "crochet/io/file_system.h"
#include "crochet/session/session.h"

namespace crochet {

struct SaverOptions {
  // How many of the newest checkpoints to keep; 0 keeps all.
  int max_to_keep = 5;
  // Where files are written; the operating system's if null. Not owned.
  FileSystem* files = nullptr;
  // Measures saves; the machine's if null. Not owned.
  Clock* clock = nullptr;
};

// Saves all variables and objects of a graph as TensorFlow V2 checkpoints, keeps
// the newest ones, and restores them.
//
//   Saver saver;
//   saver.save(session, "runs/x/model.ckpt", step);    // runs/x/model.ckpt-100.index, ...
//
// On disk, in this order: data and index under temporary names, synced; the data
// renamed, its directory synced; the index renamed, the directory synced (from now on
// the checkpoint exists); the state file `checkpoint`, replaced; then older ones
// beyond max_to_keep are removed. docs/architecture.md follows one save.
//
// Thread-safe; saves into the same directory come one after another.
class Saver {
 public:
  // Throws: InvalidArgumentError for a negative max_to_keep.
  explicit Saver(const SaverOptions& options = {});

  // The state between two steps: the graph's variables and objects.
  Snapshot snapshot(Session& session) const;

  // Writes a snapshot as "<save_path>-<step>" and returns when it is published.
  // Called from any thread. An older checkpoint that cannot be removed is logged, and tried
  // again after the next save.
  // Throws: what the file system throws; then no file of this save is left, or the
  // checkpoint is whole and only the state file does not name it. Older ones are as they were.
  void write(const Snapshot& snapshot, SaveTicket& ticket);

  // Says that a write will come, from another thread: restore_newest() waits until all that was
  // announced has been written or given up, that is, until the results are destroyed.
  std::shared_ptr<void> announce_write();

  // Both in one: returns the prefix "<save_path>-<step>".
  std::string save(Session& session, const std::string& save_path, int64_t step);

  // Takes over the checkpoint `prefix`. All names, types and shapes are checked before anything is
  // overwritten, all checksums while reading. The state of hooks may be missing or too
  // much, with a warning.
  // Throws: NotFoundError without such a checkpoint; InvalidArgumentError that lists all that is
  // missing, too much or of another type or shape; DataLossError for damaged files,
  // after which the state is undefined until another restore.
  void restore(Session& session, const std::string& prefix);

  // Takes over the newest sound checkpoint "<basename>-<step>" of a directory; returns its prefix,
  // or nothing if the directory holds no checkpoint at all. Damaged ones are logged, skipped, and
  // renamed aside once a sound one is found. Checkpoints that are found count for max_to_keep.
  // Throws: as restore(); DataLossError if there are checkpoints, none of them sound;
  // CancelledError if a signal asks the process to end.
  std::optional<std::string> restore_newest(Session& session, const std::string& directory,
                                            const std::string& basename);

  // Prefixes of the checkpoints that are kept, oldest first.
  std::vector<std::string> last_checkpoints() const;

  FileSystem& files() const { return files_; }
  Clock& clock() const { return clock_; }

 private:
  void write_files(const Snapshot& snapshot, SaveTicket& ticket);
  // Puts the prefix behind the others.
  void remember(const std::string& prefix);
  // The oldest of the last checkpoints, those beyond max_to_keep.
  std::vector<std::string> surplus() const;
  void remove_surplus(const std::vector<std::string>& prefixes);

  const int max_to_keep_;
  FileSystem& files_;  // Not owned; outlives this.
  Clock& clock_;       // Not owned; outlives this.

  std::mutex writing_;  // Held by the one save that is being written.

  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable write_ended_;
  int announced_writes_ = 0;
  std::vector<std::string> last_checkpoints_;
};

}  // namespace crochet
