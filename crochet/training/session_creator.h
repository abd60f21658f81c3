// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/session/session.h"
#include "crochet/training/scaffold.h"
#include "crochet/training/session_manager.h"

namespace crochet::inline v0 {

// Creates the sessions of a monitored session: the first, and one for each recovery.
class CROCHET_EXPORT SessionCreator {
 public:
  virtual ~SessionCreator() = default;

  virtual Graph& graph() const = 0;
  // Finalizes the graph and creates a session that is ready to run.
  virtual CreatedSession create_session() = 0;
  // The next session starts from the newest checkpoint of this step or an earlier one, or else from
  // the oldest: see SessionRunContext::go_back_to(). By default, from the newest one.
  virtual void go_back_to(int64_t /*step*/) {}
};

struct ChiefSessionCreatorOptions {
  std::shared_ptr<Scaffold> scaffold = {};  // One with all defaults.
  // Where the session runs, and how; see Graph::new_session.
  std::string master = {};
  SessionConfig config = {};
  // Restored from if it holds a checkpoint; empty: always a fresh start.
  std::string checkpoint_dir = {};
  CheckpointBasename checkpoint_basename = "model.ckpt";
  // The checkpoint to restore, "runs/x/model.ckpt-100", instead of the newest of a directory.
  // Recovered sessions start from it, too.
  std::string checkpoint_filename_with_path = {};
  // As RecoverSessionOptions::restore, for a program that chooses otherwise.
  decltype(RecoverSessionOptions::restore) restore = {};
};

// For the process that initialises: restores the newest intact checkpoint, or initialises
// if the directory holds none at all.
class CROCHET_EXPORT ChiefSessionCreator final : public SessionCreator {
 public:
  // Requires: the graph outlives this. Throws: InvalidArgumentError if both
  // checkpoint_dir and checkpoint_filename_with_path are given.
  explicit ChiefSessionCreator(Graph& graph, ChiefSessionCreatorOptions options = {});

  Graph& graph() const override { return graph_; }
  // Throws: as Scaffold::finalize and SessionManager::prepare_session, and what init_fn throws.
  CreatedSession create_session() override;
  void go_back_to(int64_t step) override;

 private:
  Graph& graph_;  // Not owned; outlives this.
  const ChiefSessionCreatorOptions options_;
  const WorkingDirectory start_;           // Where relative paths begin.
  std::optional<SessionManager> manager_;  // Made with the first session.
};

struct WorkerSessionCreatorOptions {
  std::shared_ptr<Scaffold> scaffold = {};  // One with all defaults.
  // Where the session runs, and how; see Graph::new_session.
  std::string master = {};
  SessionConfig config = {};
  // How long to wait for the chief, and how long between two checks whether it is ready.
  double max_wait_secs = 1800;
  double recovery_wait_secs = 30;
  // Clock::real() if null. Not owned.
  Clock* clock = nullptr;
};

// For the other processes of a cluster: waits until the chief has initialised or restored
// what they share, and initialises local variables only.
class CROCHET_EXPORT WorkerSessionCreator final : public SessionCreator {
 public:
  // Requires: the graph outlives this. Throws: InvalidArgumentError for a negative max_wait_secs,
  // or a recovery_wait_secs of 0 or less.
  explicit WorkerSessionCreator(Graph& graph, WorkerSessionCreatorOptions options = {});

  Graph& graph() const override { return graph_; }
  // Throws: as Scaffold::finalize and SessionManager::wait_for_session.
  CreatedSession create_session() override;

 private:
  Graph& graph_;  // Not owned; outlives this.
  const WorkerSessionCreatorOptions options_;
  std::optional<SessionManager> manager_;  // Made with the first session.
};

}  // namespace crochet::inline v0
