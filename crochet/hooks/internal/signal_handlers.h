// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <utility>
#include <vector>

namespace crochet::inline v0::internal {

// Throws: InvalidArgumentError, which names `hook`, for no signals or one that cannot be handled.
void check_signals(const char* hook, const std::vector<int>& signals);

// Handlers of signals, except of those that are ignored now: who started the program with nohup, or
// in the background of a shell, wants that. Its destructor restores the previous ones.
class SignalHandlers {
 public:
  // Throws: FailedPreconditionError if another object of this class handles one of them now.
  SignalHandlers(const std::vector<int>& signals, void (*handler)(int));
  // The same with a handler that only notes the signal, for take().
  explicit SignalHandlers(const std::vector<int>& signals);
  ~SignalHandlers();
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;

  // True if the signal was noted since the handler was installed, or since the last call.
  static bool take(int signal) noexcept;

 private:
  void add(int signal, void (*handler)(int));
  void restore();

  std::vector<std::pair<int, struct sigaction>> previous_;
};

}  // namespace crochet::inline v0::internal
