// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// What a signal that asks the process to end means; the one place that decides it.
//
// The first one is the request: it becomes pending_signal(). Launchers, batch systems and terminals
// send several for one request, so those that arrive within kOneRequest of it, whichever they are,
// are part of it. A later one repeats the request. A person who means it presses Ctrl-C again; a
// program has to ask three times: then the process ends without its last save.
inline constexpr std::chrono::seconds kOneRequest(1);

// Called by signal handlers; lock-free. True if the process must end now.
CROCHET_EXPORT bool record_signal(int signal) noexcept;
// The same at a time of the steady clock.
CROCHET_EXPORT bool record_signal_at(int signal, int64_t nanoseconds) noexcept;

}  // namespace crochet::inline v0::internal
