// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "crochet/training/internal/time_view.h"

namespace crochet::inline v0::internal {

// What a process being watched does now.
enum class WatchPhase : uint32_t {
  kNone,     // Nothing that is watched.
  kRestore,  // A session is being created.
  kStep,     // A step, with its hooks, and what the program does until the next one.
  kEnd,      // The last save, and the end of hooks.
  kClosed,   // The run has ended: so does the helper.
};

enum class WatchAction : uint32_t { kWarn, kStop, kAbort };

// Shared memory of a process that is watched and of its helper, `crochet watchdog`, which are of
// the same version. The process writes it, but for what is said below, and allocates nothing for
// that.
//
// Times are nanoseconds of CLOCK_MONOTONIC.
struct WatchPage {
  static constexpr uint32_t kVersion = 1;
  static constexpr size_t kMaxValues = 8;
  static constexpr size_t kMaxFrames = 128;

  struct Value {
    std::array<char, 64> name = {};
    std::atomic<double> value = 0;
  };

  uint32_t version = kVersion;
  int32_t pid = 0;
  int32_t rank = 0;
  WatchAction action = WatchAction::kWarn;
  int32_t signal = 0;                     // Has a thread write its stack below.
  std::array<char, 4096> directory = {};  // Of the run; empty: none.

  std::atomic<WatchPhase> phase = WatchPhase::kNone;
  std::atomic<int64_t> since = 0;  // When the phase began.
  std::atomic<int64_t> limit = 0;  // How long it may take, without what follows; 0: any time.
  // Within the phase, sessions that are created, waits for saves, and evaluations; and how long
  // each may take, by TimeKind.
  TimeView span = {};
  std::array<std::atomic<int64_t>, 4> span_limits = {};
  std::atomic<int64_t> step = 0;  // Completed ones.
  // A save in the background; 0: none, or none is watched.
  std::atomic<int64_t> save_since = 0;
  std::atomic<int64_t> save_limit = 0;
  std::array<char, 128> activity = {};  // "saving step 200".
  uint32_t num_values = 0;
  std::array<Value, kMaxValues> values = {};  // As of the last step.

  std::atomic<uint32_t> num_hung = 0;  // Written by the helper: how often it found something hung.

  // The stack of the thread that was sent `signal`, innermost first. The thread sets `thread` last.
  std::atomic<int32_t> thread = 0;
  std::atomic<uint32_t> depth = 0;
  std::array<void*, kMaxFrames> frames = {};
};

static_assert(std::atomic<int64_t>::is_always_lock_free);

// The texts of the page, cut where they are too long.
template <size_t n>
void write_text(std::string_view text, std::array<char, n>& into) {
  const size_t length = std::min(text.size(), n - 1);
  std::memcpy(into.data(), text.data(), length);
  into[length] = '\0';
}
// They end somewhere, whatever the process has written there.
template <size_t n>
std::string read_text(const std::array<char, n>& text) {
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

}  // namespace crochet::inline v0::internal
