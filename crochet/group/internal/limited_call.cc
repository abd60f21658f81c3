// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/group/internal/limited_call.h"

#include <condition_variable>
#include <mutex>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/thread.h"

namespace crochet::inline v0::internal {
namespace {

struct Ending {
  std::mutex mutex;
  std::condition_variable changed;
  bool has_ended = false;
};

}  // namespace

void run_within(WaitLimit& limit, const std::string& activity, std::function<void()> work) {
  const auto ending = std::make_shared<Ending>();
  Thread thread("crochet limited call", [ending, work = std::move(work)]() mutable {
    work();
    work = nullptr;  // What it owns ends here, not later in a thread that nobody waits for.
    const std::lock_guard lock(ending->mutex);
    ending->has_ended = true;
    ending->changed.notify_all();
  });
  thread.detach();
  std::unique_lock lock(ending->mutex);
  while (!ending->has_ended) {
    if (limit.is_over())
      throw DeadlineExceededError(
          fmt::format("{}: no answer within {:.2g} s", activity, limit.waited_secs()));
    ending->changed.wait_for(lock, limit.pause());
  }
}

}  // namespace crochet::inline v0::internal
