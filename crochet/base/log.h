// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace crochet {

enum class Severity { kDebug, kInfo, kWarning, kError };

// Gets every line the library logs, without a newline at its end. May be called
// from any thread, one call at a time.
using LogCallback = std::function<void(Severity severity, std::string_view message)>;

// Sends the log elsewhere, to spdlog or glog say, and returns the callback that
// was set before. An empty callback restores the default: one line on stderr,
// kDebug left out.
LogCallback set_log_callback(LogCallback callback);

// What the default callback does.
void log_to_stderr(Severity severity, std::string_view message);

// Hands one line to the callback. Never throws: what the callback throws is dropped.
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
