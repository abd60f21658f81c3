// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/rank_saves_hook.h"

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0::internal {

void RankSavesHook::meet(Session& session) {
  agreement_->meet_saves(session, *scaffold_->saver, read_global_step(session));
}

void RankSavesHook::after_create_session(Session& session, Coordinator&) {
  agreement_->finish_saves();  // Of an earlier session.
  meet(session);
}

void RankSavesHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  if (agreement_->is_agreed()) meet(context.session());
}

void RankSavesHook::end(Session&) { agreement_->finish_saves(); }

void RankSavesHook::on_error(std::exception_ptr) {
  try {
    agreement_->finish_saves();
  } catch (const Error& error) {  // The child of a fork unwinds its parent's run.
    log_error(error.what());
  }
}

}  // namespace crochet::inline v0::internal
