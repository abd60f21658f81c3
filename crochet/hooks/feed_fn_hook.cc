// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/feed_fn_hook.h"

#include <utility>

#include "crochet/base/error.h"

namespace crochet::inline v0 {

FeedFnHook::FeedFnHook(std::function<Feeds()> feed_fn) : feed_fn_(std::move(feed_fn)) {
  if (!feed_fn_) throw InvalidArgumentError("FeedFnHook: the feed function is empty");
}

std::optional<SessionRunArgs> FeedFnHook::before_run(SessionRunContext&) {
  return SessionRunArgs{.feeds = feed_fn_()};
}

}  // namespace crochet::inline v0
