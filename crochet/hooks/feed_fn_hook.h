// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "crochet/monitor/session_run_hook.h"

namespace crochet {

// Feeds every run with what a function gives, a batch of training data say.
//
//   FeedFnHook([&] { return Feeds{{images, batches.next_images()}, {labels, batches.labels()}}; })
//
// The function is called once for each attempt of a run, so again if the run failed and was
// recovered. An OutOfRangeError or StopIteration it throws ends the run cleanly. An output that is
// also fed by the caller or another hook is a FailedPreconditionError.
class FeedFnHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError for an empty function.
  explicit FeedFnHook(std::function<Feeds()> feed_fn);

  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;

 private:
  std::function<Feeds()> feed_fn_;
};

}  // namespace crochet
