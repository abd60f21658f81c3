// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/continued_session_creator.h"

#include <fmt/format.h>

#include "crochet/base/log.h"

namespace crochet::inline v0::internal {

std::unique_ptr<Session> ContinuedSessionCreator::create_session() {
  if (num_sessions_ > 0) {
    std::unique_ptr<Session> session = later_->create_session();
    ++num_sessions_;
    return session;
  }
  scaffold_->finalize(graph());
  std::unique_ptr<Session> session = graph().new_session("");
  Saver rest({.filter = [this](std::string_view name) { return !early_.names.contains(name); },
              .write_state = false,
              .files = &scaffold_->saver->files(),
              .clock = &scaffold_->saver->clock()});
  rest.restore(*session, early_.prefix);
  log_info(fmt::format("the run continues from {}, which was restored before it", early_.prefix));
  ++num_sessions_;
  return session;
}

std::optional<std::string> ContinuedSessionCreator::restored_from() const {
  return num_sessions_ == 1 ? early_.prefix : later_->restored_from();
}

std::optional<RestoreReport> ContinuedSessionCreator::restore_report() const {
  return num_sessions_ == 1 ? early_.report : later_->restore_report();
}

}  // namespace crochet::inline v0::internal
