// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/log.h"

#include <cstdio>
#include <ctime>
#include <mutex>
#include <string>

#include <fmt/chrono.h>

namespace crochet {
namespace {

// Recursive, so that a callback may log; leaked, so that threads may log at exit.
struct Sink {
  std::recursive_mutex mutex;  // Guards what follows.
  LogCallback callback = log_to_stderr;
};

Sink& sink() {
  static Sink* const sink = new Sink;
  return *sink;
}

}  // namespace

void log_to_stderr(Severity severity, std::string_view message) {
  if (severity == Severity::kDebug) return;
  const char letter = severity == Severity::kInfo      ? 'I'
                      : severity == Severity::kWarning ? 'W'
                                                       : 'E';
  const std::string line =
      fmt::format("{} {:%H:%M:%S} {}\n", letter, fmt::localtime(std::time(nullptr)), message);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

LogCallback set_log_callback(LogCallback callback) {
  const std::lock_guard lock(sink().mutex);
  if (!callback) callback = log_to_stderr;
  std::swap(callback, sink().callback);
  return callback;
}

void log(Severity severity, std::string_view message) noexcept {
  try {
    const std::lock_guard lock(sink().mutex);
    sink().callback(severity, message);
  } catch (...) {  // A log line is not worth a training run.
  }
}

}  // namespace crochet
