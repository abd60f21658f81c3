// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/session_creator.h"

#include "crochet/base/internal/check_number.h"
#include "crochet/checkpoint/saver/internal/saver_access.h"

namespace crochet::inline v0 {
namespace {

template <typename Options>
Options with_scaffold(Options options) {
  if (!options.scaffold) options.scaffold = std::make_shared<Scaffold>();
  return options;
}

// Requires: the scaffold is finalized.
SessionManager make_manager(
    Graph& graph, const Scaffold& scaffold, Clock* clock,
    double recovery_wait_secs = SessionManagerOptions().recovery_wait_secs) {
  return SessionManager(graph, {.local_init_op = scaffold.local_init_op,
                                .local_init_feed_dict = scaffold.local_init_feed_dict,
                                .ready_op = scaffold.ready_op,
                                .ready_for_local_init_op = scaffold.ready_for_local_init_op,
                                .recovery_wait_secs = recovery_wait_secs,
                                .clock = clock});
}

RecoverSessionOptions session_of(const ChiefSessionCreatorOptions& options,
                                 const WorkingDirectory& start) {
  const Saver* const saver = options.scaffold->saver.get();
  const FileSystem& files = saver != nullptr ? saver->files() : FileSystem::posix();
  return {.master = options.master,
          .config = options.config,
          .saver = options.scaffold->saver,
          .checkpoint_dir = files.fixed_path(options.checkpoint_dir, start),
          .checkpoint_basename = options.checkpoint_basename,
          .checkpoint_filename_with_path =
              files.fixed_path(options.checkpoint_filename_with_path, start),
          .restore = options.restore};
}

}  // namespace

ChiefSessionCreator::ChiefSessionCreator(Graph& graph, ChiefSessionCreatorOptions options)
    : graph_(graph), options_(with_scaffold(std::move(options))) {
  check_options(session_of(options_, start_));
}

CreatedSession ChiefSessionCreator::create_session() {
  Scaffold& scaffold = *options_.scaffold;
  scaffold.finalize(graph_);
  if (!manager_) manager_.emplace(make_manager(graph_, scaffold, &scaffold.saver->clock()));
  PrepareSessionOptions options{.session = session_of(options_, start_),
                                .init_op = scaffold.init_op,
                                .init_feed_dict = scaffold.init_feed_dict};
  if (scaffold.init_fn)
    options.init_fn = [&scaffold](Session& session) { scaffold.init_fn(scaffold, session); };
  return manager_->prepare_session(options);
}

void ChiefSessionCreator::go_back_to(int64_t step) {
  if (options_.scaffold->saver) internal::SaverAccess::go_back_to(*options_.scaffold->saver, step);
}

WorkerSessionCreator::WorkerSessionCreator(Graph& graph, WorkerSessionCreatorOptions options)
    : graph_(graph), options_(with_scaffold(std::move(options))) {
  internal::check_at_least("WorkerSessionCreator: max_wait_secs", options_.max_wait_secs, 0);
  internal::check_above("WorkerSessionCreator: recovery_wait_secs", options_.recovery_wait_secs, 0);
}

CreatedSession WorkerSessionCreator::create_session() {
  Scaffold& scaffold = *options_.scaffold;
  scaffold.finalize(graph_);
  if (!manager_)
    manager_.emplace(make_manager(graph_, scaffold, options_.clock, options_.recovery_wait_secs));
  return {manager_->wait_for_session({.master = options_.master,
                                      .config = options_.config,
                                      .max_wait_secs = options_.max_wait_secs})};
}

}  // namespace crochet::inline v0
