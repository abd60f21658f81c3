// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0 {

enum class Severity { kDebug, kInfo, kWarning, kError };

// Receives every line the library logs, without a trailing newline, one call at a time. Control
// characters, including line breaks, and bytes that are not UTF-8 are escaped, since a line may
// contain names from files. No lock is held during a call. A thread that logs while another is in
// a call never waits: the thread in the call passes on the line next. A line that the callback
// itself logs is passed on at once.
using LogCallback = std::function<void(Severity severity, std::string_view message)>;

// Redirects the log, for example to spdlog or glog, and returns the previous
// callback. An empty callback restores the default: one line on stderr,
// without kDebug.
//
// May be called by a callback. If another thread is in a call of the previous callback, that
// call may end after this returns: the callable stays alive for it, and flush_log() waits for
// it. The last callback that is set is never destroyed; what it refers to must stay valid as
// long as any thread may log, that is, until the process ends.
//
// If this throws, because memory is short for example, the log has the callback it had.
CROCHET_EXPORT LogCallback set_log_callback(LogCallback callback);

// Returns once all lines logged before have been passed to the callback, and calls of callbacks
// replaced before have ended. When called by a callback, returns at once.
// Requires: the caller holds no lock that the callback waits for.
CROCHET_EXPORT void flush_log();

// The default callback.
CROCHET_EXPORT void log_to_stderr(Severity severity, std::string_view message);

// Escapes one line and passes it to the callback, or leaves that to the thread that is currently in
// a call of it. Never throws: exceptions of the callback are dropped. The line goes to stderr
// instead if 10,000 others are already waiting, or if the callback logs recursively, 10 levels
// deep.
CROCHET_EXPORT void log(Severity severity, std::string_view message) noexcept;

CROCHET_EXPORT void log_debug(std::string_view message) noexcept;
CROCHET_EXPORT void log_info(std::string_view message) noexcept;
CROCHET_EXPORT void log_warning(std::string_view message) noexcept;
CROCHET_EXPORT void log_error(std::string_view message) noexcept;

namespace internal {

// The same for a callback that uses the previous one: `make` returns it, and every line goes to the
// one or to the other. May call `make` again if another thread sets a callback meanwhile.
CROCHET_EXPORT LogCallback
replace_log_callback(const std::function<LogCallback(const LogCallback& previous)>& make);

}  // namespace internal
}  // namespace crochet::inline v0
