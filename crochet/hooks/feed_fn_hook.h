// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "crochet/base/internal/export.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

// Feeds every run with the result of a function, such as a batch of training data.
//
//   FeedFnHook([&] { return Feeds{{images, batches.next_images()}, {labels, batches.labels()}}; })
//
// The function is called once for each attempt at a run, so again if the run failed and was
// recovered. An OutOfRangeError or StopIteration it throws ends the run cleanly. Throws:
// FailedPreconditionError from the run for an output that the caller or another hook feeds, too.
class CROCHET_EXPORT FeedFnHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError for an empty function.
  explicit FeedFnHook(std::function<Feeds()> feed_fn);

  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;

 private:
  std::function<Feeds()> feed_fn_;
};

}  // namespace crochet::inline v0
