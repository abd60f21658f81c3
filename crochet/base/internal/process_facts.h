// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What the system knows of a process: it distinguishes one that has ended from another of the same
// number, and explains some ends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// "(unknown)" if the system has none.
CROCHET_EXPORT std::string host_name();

struct ProcessFacts {
  int64_t pid = 0;
  std::string host = {};
  // Of the system: another one after each restart of the machine. Empty if it is unknown.
  std::string boot = {};
  // When the process started, in clock ticks since the machine did. Empty if it is unknown.
  std::string started = {};
  // The group of processes whose memory is limited together, by the path of its directory. Empty
  // without one.
  std::string memory_group = {};
  // How many processes of that group the kernel has killed for lack of memory.
  std::optional<int64_t> oom_kills = {};
};

CROCHET_EXPORT ProcessFacts facts_of_this_process();

// The libraries that this process computes with, each as "tensorflow 1.13.1", once. An engine adds
// its own before its first session.
CROCHET_EXPORT void add_library(std::string_view name, std::string_view version);
CROCHET_EXPORT std::vector<std::string> libraries();

// A file in /proc or /sys, whose size is unknown until it is read: at most 64 KiB of it. Empty if
// it is missing.
CROCHET_EXPORT std::string read_system_file(const std::string& path);

// The present boot of the machine.
CROCHET_EXPORT std::string boot_of_machine();
// When the process with this number started; empty if no process has it.
CROCHET_EXPORT std::string start_of_process(int64_t pid);
// As ProcessFacts::oom_kills, of another process's group.
CROCHET_EXPORT std::optional<int64_t> oom_kills_of(const std::string& memory_group);

}  // namespace crochet::inline v0::internal
