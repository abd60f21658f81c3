// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/rank_saves.h"

#include <utility>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/saver/background_saver.h"
#include "crochet/checkpoint/saver/rank_parts.h"
#include "crochet/checkpoint/saver/save_source.h"
#include "crochet/group/message_bytes.h"
#include "crochet/session/rank_state.h"

namespace crochet::inline v0::internal {

RankSaves::RankSaves(Graph& graph, std::shared_ptr<Group> group, double timeout_secs)
    : group_(std::move(group)), timeout_secs_(timeout_secs), state_(RankState::of(graph)) {
  if (!group_->is_chief()) return;
  state_->set_timeout_secs(timeout_secs);
  state_->set_announce([this](const std::string& prefix, const std::vector<std::string>& parts) {
    MessageWriter message;
    message.text(prefix);
    for (const std::string& part : parts) message.text(part);
    group_->broadcast(message.take(), 0, timeout_secs_);
  });
}

RankSaves::~RankSaves() { state_->set_announce({}); }

void RankSaves::meet(Session& session, Saver& saver, int64_t step) {
  // An empty message is the last one.
  while (true) {
    const std::string message = group_->broadcast("", 0, timeout_secs_);
    if (message.empty()) return;
    write_part(session, saver, message, step);
  }
}

void RankSaves::write_part(Session& session, Saver& saver, const std::string& message,
                           int64_t step) {
  MessageReader reader(message);
  const std::string prefix(reader.text());
  for (int rank = 0; rank < group_->rank(); ++rank) reader.text();
  const std::string part(reader.text());
  if (!background_) background_ = std::make_shared<BackgroundSaver>(saver);
  background_->take_finished();  // The chief reports errors.
  background_->wait_for_turn();
  try {
    background_->enqueue_as(saver.snapshot_of_part(session, part), prefix, step);
  } catch (...) {
    report_failed_part(saver.files(), part, std::current_exception());
    throw;
  }
}

void RankSaves::finish() {
  if (background_) background_->wait();
}

void RankSavesHook::begin(Graph& graph) {
  saves_ = std::make_shared<RankSaves>(graph, group_, timeout_secs_);
}

void RankSavesHook::meet(Session& session) {
  saves_->meet(session, *scaffold_->saver, read_global_step(session));
}

void RankSavesHook::after_create_session(Session& session, Coordinator&) {
  saves_->finish();  // Of an earlier session.
  meet(session);
}

void RankSavesHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  if (RankState::of(context.session().graph())->is_agreed()) meet(context.session());
}

void RankSavesHook::end(Session& session) {
  meet(session);
  saves_->finish();
  saves_.reset();
}

void RankSavesHook::on_error(std::exception_ptr) {
  if (!saves_) return;
  try {
    saves_->finish();
  } catch (const Error& error) {  // The child of a fork unwinds its parent's run.
    log_error(error.what());
  }
  saves_.reset();
}

}  // namespace crochet::inline v0::internal
