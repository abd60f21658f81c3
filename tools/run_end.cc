// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/run_end.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "tools/kernel_log.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

const char* const kStartAgain = "start it again; it continues by itself";

// The first line of the kernel's log that contains one of `marks`; empty if no line does.
std::string find_line(const std::vector<std::string>& log, const std::vector<std::string>& marks) {
  for (const std::string& line : log)
    for (const std::string& mark : marks)
      if (line.find(mark) != std::string::npos) return line;
  return "";
}

RunEnd out_of_memory(const std::string& evidence) {
  return {EndKind::kOutOfMemory,
          fmt::format("the kernel killed it, as memory was short ({})", evidence),
          "give it more memory or use less, then start it again; it continues by itself"};
}

RunEnd ended_by_itself(const Life& life) {
  if (!life.error.empty())
    return {EndKind::kFailed, fmt::format("error: {}", life.error),
            "correct what the error names, then start it again; it continues by itself"};
  if (life.signal) return {EndKind::kSignalled, life.stop_reason, kStartAgain};
  return {EndKind::kStopped, life.stop_reason,
          "nothing, if that is where it was to end; else start it again"};
}

// Without an end in the journal.
RunEnd ended_without_a_word(const Life& life, const Machine& machine) {
  const internal::ProcessFacts& process = life.process;
  if (process.host != machine.host())
    return {EndKind::kUnknown,
            fmt::format("killed, crashed or lost its machine: only host {} can show which",
                        printable(process.host)),
            fmt::format("run `crochet why` there; {}", kStartAgain)};
  if (!process.boot.empty() && process.boot != machine.boot())
    return {EndKind::kMachineEnded, "the machine was restarted, or lost its power", kStartAgain};
  const std::vector<std::string> log = machine.kernel_log();
  if (const std::string line = find_line(log, {fmt::format("Killed process {} ", process.pid),
                                               fmt::format("reaped process {} ", process.pid)});
      !line.empty())
    return out_of_memory("the kernel's log: " + line);
  if (const std::string line = find_line(log, {fmt::format("[{}]: segfault", process.pid),
                                               fmt::format("[{}] general protection", process.pid),
                                               fmt::format("[{}] trap", process.pid)});
      !line.empty())
    return {EndKind::kCrashed, fmt::format("it crashed (the kernel's log: {})", line),
            "look at its core file with a debugger, then start it again"};
  const auto kills = machine.oom_kills(process.memory_group);
  if (kills && process.oom_kills && *kills > *process.oom_kills)
    return out_of_memory(
        fmt::format("{}: {} since it started", printable(process.memory_group),
                    count_text(static_cast<uint64_t>(*kills - *process.oom_kills), "kill")));
  return {
      EndKind::kKilled,
      "kill -9, abort, or exit() within a step: the kernel's log and counters do not show which",
      fmt::format("look at its last output and the scheduler's records; {}", kStartAgain)};
}

}  // namespace

std::string ThisMachine::host() const { return internal::host_name(); }
std::string ThisMachine::boot() const { return internal::boot_of_machine(); }
std::string ThisMachine::start_of_process(int64_t pid) const {
  return internal::start_of_process(pid);
}
std::optional<int64_t> ThisMachine::oom_kills(const std::string& memory_group) const {
  return internal::oom_kills_of(memory_group);
}
std::vector<std::string> ThisMachine::kernel_log() const {
  if (!log_) log_ = tool::kernel_log();
  return *log_;
}

const char* end_kind_name(EndKind kind) {
  switch (kind) {
    case EndKind::kRunning:
      return "running";
    case EndKind::kStopped:
      return "stopped";
    case EndKind::kSignalled:
      return "signalled";
    case EndKind::kFailed:
      return "failed";
    case EndKind::kOutOfMemory:
      return "out of memory";
    case EndKind::kCrashed:
      return "crashed";
    case EndKind::kMachineEnded:
      return "machine ended";
    case EndKind::kKilled:
      return "killed";
    case EndKind::kUnknown:
      break;
  }
  return "unknown";
}

bool is_as_wanted(EndKind kind) {
  return kind == EndKind::kRunning || kind == EndKind::kStopped || kind == EndKind::kSignalled;
}

RunEnd end_of(const Life& life, std::optional<bool> is_running, const Machine& machine) {
  if (life.has_ended) return ended_by_itself(life);
  const internal::ProcessFacts& process = life.process;
  const bool is_here = process.host == machine.host() && process.boot == machine.boot();
  const bool is_process_there = is_here && !process.started.empty() &&
                                machine.start_of_process(process.pid) == process.started;
  if (is_running.value_or(is_process_there))
    return {EndKind::kRunning, "it has not ended", "nothing"};
  return ended_without_a_word(life, machine);
}

}  // namespace crochet::tool
