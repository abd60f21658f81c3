// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/lives.h"

#include <algorithm>

#include <fmt/format.h>

namespace crochet::tool {
namespace {

using internal::JournalEntry;

std::optional<int> small_number(const JournalEntry& entry, const char* key) {
  const auto number = entry.number(key);
  if (!number || *number < 0 || *number > 255) return std::nullopt;
  return static_cast<int>(*number);
}

int64_t large_number(const JournalEntry& entry, const char* key) {
  constexpr double kMax = 9e15;
  return static_cast<int64_t>(std::clamp(entry.number(key).value_or(0), 0.0, kMax));
}

// A path from a file is only read where the kernel has such directories.
std::string memory_group_of(const JournalEntry& entry) {
  std::string path = entry.text("memory_group");
  const bool is_kernels =
      path.starts_with("/sys/fs/cgroup") && path.find("..") == std::string::npos;
  return is_kernels ? path : "";
}

void record_start(const JournalEntry& entry, Life& life) {
  life.process = {.pid = large_number(entry, "pid"),
                  .host = entry.text("host"),
                  .boot = entry.text("boot"),
                  .started = entry.text("process_start"),
                  .memory_group = memory_group_of(entry)};
  if (entry.number("oom_kills")) life.process.oom_kills = large_number(entry, "oom_kills");
  life.command = entry.text("command");
}

void record_stop(const JournalEntry& entry, Life& life) {
  life.stop_reason = fmt::format("{}: {}", entry.text("who"), entry.text("reason"));
  life.signal = small_number(entry, "signal");
}

void record_end(const JournalEntry& entry, Life& life) {
  life.has_ended = true;
  life.error = entry.text("error");
  life.exit_code = small_number(entry, "exit_code");
  if (life.stop_reason.empty()) life.stop_reason = entry.text("reason");
}

void add(const JournalEntry& entry, Life& life) {
  const int64_t step = entry.stamp.step;
  if (life.start == 0) life.start = entry.stamp.time;
  life.last = entry.stamp.time;
  // A recovery goes back; nothing else does.
  life.last_step = entry.event == "restore" ? step : std::max(life.last_step, step);
  if (entry.number("last_step")) life.of_steps = large_number(entry, "last_step");
  if (entry.event == "start") {
    record_start(entry, life);
  } else if (entry.event == "restore") {
    if (life.snapshots.empty() && life.restored_from.empty()) {
      life.first_step = step;
      life.restored_from = entry.text("checkpoint");
    }
  } else if (entry.event == "save") {
    life.saving = step;
    life.snapshots[step] = entry.stamp.time;
  } else if (entry.event == "saved" || entry.event == "save_failed") {
    if (life.saving == step) life.saving.reset();
  } else if (entry.event == "stop") {
    record_stop(entry, life);
  } else if (entry.event == "end") {
    record_end(entry, life);
  }
}

}  // namespace

std::vector<Life> lives_of(const internal::JournalEntries& journal) {
  std::map<int64_t, Life> lives;
  for (const JournalEntry& entry : journal.entries) {
    Life& life = lives[entry.stamp.life];
    life.number = entry.stamp.life;
    add(entry, life);
  }
  std::vector<Life> sorted;
  for (auto& [number, life] : lives) sorted.push_back(std::move(life));
  return sorted;
}

}  // namespace crochet::tool
