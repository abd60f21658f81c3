// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/internal/failing_calls.h"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {

void FailingCalls::set(int64_t first, int64_t last, Thrower thrower) {
  const std::lock_guard lock(mutex_);
  first_failing_ = first;
  last_failing_ = last;
  thrower_ = std::move(thrower);
}

void FailingCalls::spare(Filter is_spared) {
  const std::lock_guard lock(mutex_);
  is_spared_ = std::move(is_spared);
}

void FailingCalls::watch(Watcher watcher) {
  const std::lock_guard lock(mutex_);
  watcher_ = std::move(watcher);
}

void FailingCalls::begin(const std::string& call) {
  Watcher watcher;
  Thrower thrower;
  Filter is_spared;
  bool fails = false;
  {
    const std::lock_guard lock(mutex_);
    const auto n = static_cast<int64_t>(calls_.size());
    calls_.push_back(call);
    watcher = watcher_;
    fails = n >= first_failing_ && n <= last_failing_;
    if (fails) thrower = thrower_;
    is_spared = is_spared_;
  }
  if (watcher) watcher(call);
  if (fails && !(is_spared && is_spared(call))) fail(call, thrower);
}

void FailingCalls::fail(const std::string& call, const Thrower& thrower) {
  const auto note = [this](const std::string& what) {
    const std::lock_guard lock(mutex_);
    failures_.push_back(what);
  };
  try {
    thrower(call);
  } catch (const std::exception& error) {
    note(error.what());
    throw;
  } catch (...) {
    note(call);
    throw;
  }
  note(call);
  throw InternalError(fmt::format("{}: expected to fail, but its thrower threw nothing", call));
}

std::vector<std::string> FailingCalls::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::vector<std::string> FailingCalls::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

}  // namespace crochet::inline v0::internal
