// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace crochet {

enum class Severity { kDebug, kInfo, kWarning, kError };

// Gets every line the library logs, without a newline at its end, one call at a time. Control
// characters, line breaks too, and bytes that are not UTF-8 are escaped: names from files are in
// it. It may do as it likes: no lock is held meanwhile. A line that another thread logs during a
// call never waits for it: the thread that is in the call hands it over next. A line that the
// callback itself logs is handed over at once.
using LogCallback = std::function<void(Severity severity, std::string_view message)>;

// Sends the log elsewhere, to spdlog or glog say, and returns the callback that
// was set before. An empty callback restores the default: one line on stderr,
// kDebug left out.
//
// May be called by a callback, too. If another thread is in a call of the former callback, that
// call ends as it would have, after this returns: the callable stays alive for it, and flush_log()
// waits for it. The last callback that is set is never destroyed; what it refers to must live as
// long as any thread may log, which is until the process ends.
LogCallback set_log_callback(LogCallback callback);

// Returns once all lines that were logged before have been handed over, and calls of a callback
// that was replaced before have ended. Called by a callback, returns at once.
// Requires: the caller holds no lock that the callback waits for.
void flush_log();

// What the default callback does.
void log_to_stderr(Severity severity, std::string_view message);

// Escapes one line and hands it to the callback, or leaves that to the thread that is in a call of
// it. Never throws: what the callback throws is dropped. A line goes to stderr instead if the
// callback has kept 10,000 others waiting, or logs about what it logs about 10 times over.
void log(Severity severity, std::string_view message) noexcept;

template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log(Severity::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log(Severity::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log(Severity::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log(Severity::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace crochet
