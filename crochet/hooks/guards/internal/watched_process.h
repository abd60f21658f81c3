// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/hooks/guards/internal/watch_page.h"

namespace crochet::inline v0::internal {

// This process, as one that a helper watches: their shared page, and the helper.
class CROCHET_EXPORT WatchedProcess {
 public:
  // Starts `helper`. Null, with a warning in the log, if it cannot be started, or if this process
  // is being watched already.
  static std::unique_ptr<WatchedProcess> start(const std::string& helper, WatchAction action,
                                               int rank, const std::string& directory);
  // The helper ends.
  ~WatchedProcess();
  WatchedProcess(const WatchedProcess&) = delete;
  WatchedProcess& operator=(const WatchedProcess&) = delete;

  WatchPage& page() const { return *page_; }

 private:
  WatchedProcess() = default;

  WatchPage* page_ = nullptr;
  int helper_ = -1;  // Its process id.
};

}  // namespace crochet::inline v0::internal
