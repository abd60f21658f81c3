// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

namespace internal {
struct MachineHealth;
}  // namespace internal

struct HealthHookOptions {
  // The directory of the run, whose disk is watched. Empty: none is.
  std::string dir = {};
  // A warning is logged if memory or disk are full within this time at the rate of the last hours.
  double horizon_secs = 6 * 3600;
  // How often the machine is looked at.
  double every_secs = 30;
  // The directory with the machine's /proc and /sys, such as "/host" in a container that has them
  // there. Empty: "/".
  std::string root = {};
  // The operating system's, and the machine's, if null. Not owned.
  FileSystem* files = nullptr;
  Clock* clock = nullptr;
};

// Warns, one line each, of what ends a run some hours later: memory that grows towards the limit of
// the process's cgroup or of the machine, a disk that fills up, errors of memory (EDAC), processors
// that are slowed as they are too hot, a clock that jumps.
//
//   Loop loop({.checkpoint = {.dir = "runs/x"}, .hooks = {HealthHook({.dir = "runs/x"})}});
//
// A warning is repeated when the time that is left has halved, or the count has doubled.
class CROCHET_EXPORT HealthHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError for times of 0 or less.
  explicit HealthHook(HealthHookOptions options = {});
  ~HealthHook() override;
  HealthHook(HealthHook&&) noexcept;
  HealthHook& operator=(HealthHook&&) = delete;

  void after_create_session(Session& session, Coordinator& coordinator) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  class Watch;

  HealthHookOptions options_;
  Clock* clock_;       // Not owned.
  FileSystem* files_;  // The same.
  Clock::TimePoint next_look_;
  std::unique_ptr<Watch> watch_;  // From the first session on.
};

}  // namespace crochet::inline v0
