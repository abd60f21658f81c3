// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// What the kernel knows of this process and its machine. Unset: it does not say.
struct MachineHealth {
  std::optional<uint64_t> memory_bytes = {};  // Of the process, resident.
  // Of its cgroup, or else of the machine: what is used, and at which number the kernel kills.
  std::optional<uint64_t> used_bytes = {};
  std::optional<uint64_t> limit_bytes = {};
  // Since the machine was started: errors of memory that were corrected, and that were not, of all
  // controllers (EDAC), and how often processors were slowed as they were too hot.
  std::optional<uint64_t> corrected_errors = {};
  std::optional<uint64_t> uncorrected_errors = {};
  std::optional<uint64_t> throttled = {};
};

// Reads /proc and /sys below `root`, "" for the machine's own.
CROCHET_EXPORT MachineHealth read_machine_health(const std::string& root = "");

}  // namespace crochet::inline v0::internal
