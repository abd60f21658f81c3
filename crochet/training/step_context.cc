// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "crochet/base/error.h"
#include "crochet/training/monitored_session.h"

namespace crochet::inline v0 {

Session& StepContext::session() const {
  Session* const session = owner_.engine_session();
  if (session == nullptr) throw FailedPreconditionError("the session of this step is closed");
  return *session;
}

FetchValues StepContext::run_with_hooks(const Fetches& fetches, const Feeds& feeds,
                                        const RunOptions& options, RunMetadata* metadata) {
  return owner_.run_once(fetches, feeds, options, metadata);
}

void StepContext::request_stop(std::string reason) {
  owner_.request_stop(std::move(reason));
  throw StopIteration();
}

}  // namespace crochet::inline v0
