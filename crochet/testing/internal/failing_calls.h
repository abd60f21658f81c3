// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace crochet::inline v0::internal {

// Counts the calls of one kind, and makes some of them fail. Thread-safe.
class FailingCalls {
 public:
  using Thrower = std::function<void(const std::string& call)>;
  using Watcher = std::function<void(const std::string& call)>;
  using Filter = std::function<bool(const std::string& call)>;

  // Makes the calls from `first` to `last` fail, counted from 0; replaces earlier settings.
  void set(int64_t first, int64_t last, Thrower thrower);
  void stop_failing() { set(0, -1, nullptr); }
  // Calls accepted by `is_spared` do not fail, even if they are in the range.
  void spare(Filter is_spared);
  void watch(Watcher watcher);

  // Records a call and passes it to the watcher. Throws if the call must fail.
  void begin(const std::string& call);

  std::vector<std::string> calls() const;
  // The messages of the errors thrown.
  std::vector<std::string> failures() const;

 private:
  [[noreturn]] void fail(const std::string& call, const Thrower& thrower);

  mutable std::mutex mutex_;  // Guards what follows.
  std::vector<std::string> calls_;
  std::vector<std::string> failures_;
  int64_t first_failing_ = 0;
  int64_t last_failing_ = -1;
  Thrower thrower_;
  Filter is_spared_;  // Empty: no call is spared.
  Watcher watcher_;
};

}  // namespace crochet::inline v0::internal
