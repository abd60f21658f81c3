// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/session/fetches.h"
#include "crochet/session/graph.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::internal {

// The interface that the wrappers of a session share: each adds one thing to run, should_stop
// and close, and forwards the rest to the session inside it.
//
// Not thread-safe.
class CROCHET_EXPORT WrappedSession {
 public:
  virtual ~WrappedSession() = default;

  // The engine session's graph and target.
  virtual Graph& graph() const = 0;
  virtual const std::string& target() const = 0;

  virtual FetchValues run(const Fetches& fetches, const Feeds& feeds = {},
                          const RunOptions& options = {}, RunMetadata* metadata = nullptr) = 0;
  // True if the loop should end.
  virtual bool should_stop() = 0;
  // Ends the session. Calling it again does nothing.
  virtual void close() = 0;
};

}  // namespace crochet::inline v0::internal
