// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/session/session.h"

namespace crochet::inline v0 {

// What makes a session ready; see Scaffold.
struct SessionManagerOptions {
  Fetches local_init_op = {};
  Feeds local_init_feed_dict = {};
  // A session is ready if this gives no value, an int32 or no elements; otherwise it gives the
  // names of variables that are not initialised. Empty: always ready.
  Fetches ready_op = {};
  // The same check, made before local_init_op is run. Requires a local_init_op.
  Fetches ready_for_local_init_op = {};
  // Time between two checks for a checkpoint or for initialisation by another process.
  double recovery_wait_secs = 30;
  RunOptions local_init_run_options = {};
  // Clock::real() if null. Not owned.
  Clock* clock = nullptr;
};

// The session to create, and what it is restored from: the newest intact checkpoint of a
// directory, or one file; nothing without a saver. At most one of checkpoint_dir and
// checkpoint_filename_with_path may be set.
struct RecoverSessionOptions {
  std::string master = {};  // See Graph::new_session.
  SessionConfig config = {};
  std::shared_ptr<Saver> saver = {};
  std::string checkpoint_dir = {};
  CheckpointBasename checkpoint_basename = "model.ckpt";
  std::string checkpoint_filename_with_path = {};  // "runs/x/model.ckpt-100".
  // Restores the session instead of `saver`. Returns what it restored, or nullopt if there is
  // nothing to restore, and writes the line of the log. For `initialize`, see Saver::resume.
  std::function<std::optional<RestoreReport>(Session& session,
                                             const std::function<void()>& initialize)>
      restore = {};
  // If the directory holds no checkpoint: check again every recovery_wait_secs, up to
  // max_wait_secs.
  bool wait_for_checkpoint = false;
  double max_wait_secs = 7200;
};

// Throws: InvalidArgumentError if both a directory and a file are set, or for a negative
// max_wait_secs.
CROCHET_EXPORT void check_options(const RecoverSessionOptions& options);

struct PrepareSessionOptions {
  RecoverSessionOptions session = {};
  // What initialises a session that was not restored, in this order.
  Fetches init_op = {};
  Feeds init_feed_dict = {};
  std::function<void(Session& session)> init_fn = {};
};

struct WaitForSessionOptions {
  std::string master = {};
  SessionConfig config = {};
  double max_wait_secs = std::numeric_limits<double>::infinity();
};

struct CreatedSession {
  std::unique_ptr<Session> session;
  // What was restored, and which newer checkpoints were refused; unset if nothing was restored.
  std::optional<RestoreReport> restored = {};
};

struct RecoveredSession : CreatedSession {
  // True if it was restored and is ready.
  bool initialized = false;
};

// Creates sessions that are ready to run: restored, initialised, or initialised by another
// process. ChiefSessionCreator and WorkerSessionCreator are built on it.
//
// A session that could not be made ready is closed. Waits in these functions end with a
// CancelledError when a signal asks the process to end.
class CROCHET_EXPORT SessionManager {
 public:
  // Requires: the graph outlives this. Throws: InvalidArgumentError for a ready_for_local_init_op
  // without a local_init_op, or a recovery_wait_secs of 0 or less.
  explicit SessionManager(Graph& graph, SessionManagerOptions options = {});

  // For the chief: restores, or initialises if there is nothing to restore; then runs
  // local_init_op and checks that everything is ready. State that exists only after local_init_op
  // and is restored by the graph's own operations, such as an iterator, is restored after it.
  // Throws: InvalidArgumentError for conflicting options; FailedPreconditionError if there is
  // nothing to initialise with, though the engine needs it, or if the session is not ready
  // afterwards; what Saver::restore_newest and restore throw.
  CreatedSession prepare_session(const PrepareSessionOptions& options);

  // Restores, and initialises only the local variables. It is not an error if the session was not
  // restored or is not ready. Throws: as prepare_session for options and restoring.
  RecoveredSession recover_session(const RecoverSessionOptions& options);

  // For workers: creates sessions, one every recovery_wait_secs, until one is ready because the
  // chief has initialised what they share.
  // Throws: DeadlineExceededError if the next check would come after max_wait_secs.
  std::unique_ptr<Session> wait_for_session(const WaitForSessionOptions& options = {});

 private:
  // Why something is not ready; unset if it is.
  using Obstacle = std::optional<std::string>;

  struct Restored {
    std::optional<RestoreReport> report = {};
    bool is_initialized_locally = false;  // That was necessary to restore.
  };

  Restored restore(Session& session, const RecoverSessionOptions& options);
  void initialize(Session& session, const PrepareSessionOptions& options);
  Obstacle initialize_locally(Session& session);
  Obstacle obstacle(Session& session, const Fetches& ready_op);
  void wait(const char* what);

  Graph& graph_;  // Not owned; outlives this.
  const SessionManagerOptions options_;
  Clock& clock_;
};

}  // namespace crochet::inline v0
