// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The component `cloud`: a second place for checkpoints, in an object store.
#pragma once

#include <exception>
#include <memory>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::cloud {

namespace internal {
class MirrorThread;
class ObjectStore;
}  // namespace internal

struct MirrorHookOptions {
  // How many copies to keep, the newest; and those that were pinned when they were made. 0: all.
  int max_to_keep = 5;
  // The most seconds that the end of the run waits for the copy of its last checkpoint.
  double end_secs = 600;
  // How many objects of 64 MiB are on their way at once, each on a thread and a connection of its
  // own.
  int num_parallel = 4;
  // The machine's if null. Not owned.
  Clock* clock = nullptr;
};

// Copies each checkpoint of the run to a place in a store that speaks as Amazon S3 does, once it is
// published in the run's own directory:
//
//   Loop loop({.checkpoint = {.dir = "runs/digits"},
//              .hooks = {cloud::MirrorHook("s3://bucket/runs/digits"), ...}});
//
// A run whose directory has no checkpoint begins with the newest copy that is sound, which is
// brought back before the restore: on another machine, or after the loss of a disk, the same
// program continues. A run that has one of its own never waits for the store, except at its end.
//
// Copying is done by threads of low priority; training does not wait for it. If it takes longer
// than the time between two saves, the newest checkpoint comes first, and those that are removed
// meanwhile are left out. What fails is logged, recorded in the journal and tried again; it does
// not end the run.
//
// In a rehearsal (`crochet rehearse`) it does nothing.
//
// Each run needs a place of its own, as it needs a directory of its own. How the store and the
// credentials are found, and what there is in the store: docs/hooks/mirror_hook.md.
class CROCHET_EXPORT MirrorHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError for a text that is not such a URL, another endpoint in the
  // environment than http and https, and for options that make no sense.
  explicit MirrorHook(const std::string& url, const MirrorHookOptions& options = {});
  ~MirrorHook() override;
  MirrorHook(MirrorHook&&) noexcept;
  MirrorHook& operator=(MirrorHook&&) = delete;

  // Throws: FailedPreconditionError if no hook before this one saves checkpoints. In a directory
  // without a checkpoint: DataLossError if there are copies, but none is sound; UnavailableError,
  // PermissionDeniedError or UnauthenticatedError if it is not known whether there are any.
  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  void end(Session& session) override;
  void on_error(std::exception_ptr error) override;
  HookPlace place() const override { return HookPlace::kLast; }
  bool is_for_chief() const override { return true; }
  std::string activity() const override;

 private:
  void finish();

  MirrorHookOptions options_;
  std::string url_;
  std::shared_ptr<internal::ObjectStore> store_;
  std::shared_ptr<internal::MirrorThread> thread_;  // From begin on.
};

}  // namespace crochet::inline v0::cloud
