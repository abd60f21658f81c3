// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/lives.h"

namespace crochet::tool {

// What can be seen of a process on this machine.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual std::string host() const = 0;
  virtual std::string boot() const = 0;
  // As the functions in process_facts.h.
  virtual std::string start_of_process(int64_t pid) const = 0;
  virtual std::optional<int64_t> oom_kills(const std::string& memory_group) const = 0;
  virtual std::vector<std::string> kernel_log() const = 0;
};

// The one on which the command runs.
class ThisMachine final : public Machine {
 public:
  std::string host() const override;
  std::string boot() const override;
  std::string start_of_process(int64_t pid) const override;
  std::optional<int64_t> oom_kills(const std::string& memory_group) const override;
  std::vector<std::string> kernel_log() const override;

 private:
  mutable std::optional<std::vector<std::string>> log_;  // Read once: many lives may ask for it.
};

enum class EndKind {
  kRunning,
  kStopped,       // By itself, or as it was asked to.
  kSignalled,     // Asked to by a signal.
  kFailed,        // With an error.
  kOutOfMemory,   // The kernel killed it.
  kCrashed,       // The kernel's log has a fault of it.
  kMachineEnded,  // The machine was restarted, or lost its power.
  kKilled,        // It could not write its end, and nothing shows why.
  kUnknown,       // The same, on another machine.
};

// "running", "stopped", "signalled", "failed", "out of memory", "crashed", "machine ended",
// "killed", "unknown".
const char* end_kind_name(EndKind kind);

// True if the run is alive, or ended as it was asked to.
bool is_as_wanted(EndKind kind);

struct RunEnd {
  EndKind kind = EndKind::kUnknown;
  std::string why = {};     // And how that is known.
  std::string advice = {};  // What the operator can do.
};

// `is_running`: whether a run has the directory, if that is known; only of the last life.
RunEnd end_of(const Life& life, std::optional<bool> is_running, const Machine& machine);

}  // namespace crochet::tool
