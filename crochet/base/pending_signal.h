// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"

namespace crochet::inline v0 {

// The signal that asks this process to end its training: 0 if none has arrived.
//
// Operations that may take long (restoring, waiting, retrying, evaluating) check
// it and end early. SignalHook sets it from its handlers; programs with handlers
// of their own may do the same. Lock-free, so safe in a signal handler.
CROCHET_EXPORT int pending_signal() noexcept;
CROCHET_EXPORT void set_pending_signal(int signal) noexcept;
// How long ago the first signal arrived, by the real clock; zero if none has.
CROCHET_EXPORT Clock::Duration pending_signal_age() noexcept;

// Throws CancelledError, naming the signal and the activity it cut short, if one is pending.
CROCHET_EXPORT void throw_if_signalled(const char* activity);
// False without a pending signal. Otherwise logs why something is left out: "<what> because of
// SIGTERM".
CROCHET_EXPORT bool left_out_for_signal(const char* what);

// A signal handler cannot wake threads: waiting threads check for a signal at this interval.
inline constexpr std::chrono::milliseconds kSignalSlice(100);

// Sleeps; returns early, with false, if a signal is pending or `stop` is requested.
CROCHET_EXPORT bool sleep_unless_signalled(Clock& clock, Clock::Duration duration,
                                           const std::stop_token& stop = {});

// "SIGTERM" for 15; "signal 99" for a number without a name.
CROCHET_EXPORT std::string signal_name(int signal);

}  // namespace crochet::inline v0
