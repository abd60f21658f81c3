// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/internal/machine_health.h"

#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "crochet/base/internal/process_facts.h"

namespace crochet::inline v0::internal {
namespace {

namespace fs = std::filesystem;

// The number with which a text begins.
std::optional<uint64_t> number_in(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

std::optional<uint64_t> number_at(const fs::path& path) {
  return number_in(read_system_file(path));
}

// "MemTotal:       16384 kB".
std::optional<uint64_t> kilobytes_of(const std::string& text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string::npos) return std::nullopt;
  const size_t digits = text.find_first_of("0123456789", at);
  if (digits == std::string::npos) return std::nullopt;
  const auto number = number_in(std::string_view(text).substr(digits));
  if (!number) return std::nullopt;
  return *number * 1024;
}

void add(const std::optional<uint64_t>& number, std::optional<uint64_t>& sum) {
  if (number) sum = sum.value_or(0) + *number;
}

// The sum of the numbers in files of one name, in the folders of `parent` that begin with `prefix`.
std::optional<uint64_t> sum_of(const fs::path& parent, std::string_view prefix,
                               const std::string& name) {
  std::optional<uint64_t> sum;
  std::error_code error;
  for (fs::directory_iterator each(parent, error), end; !error && each != end;
       each.increment(error))
    if (each->path().filename().string().starts_with(prefix))
      add(number_at(each->path() / name), sum);
  return sum;
}

// Version 2 has "0::/group".
fs::path memory_group(const fs::path& root) {
  std::istringstream lines(read_system_file(root / "proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("0::/") && line.find("..") == std::string::npos)
      return root / "sys/fs/cgroup" / line.substr(4);
  return {};
}

void read_memory(const fs::path& root, MachineHealth& health) {
  std::istringstream statm(read_system_file(root / "proc/self/statm"));
  uint64_t pages = 0;
  if (uint64_t all = 0; statm >> all >> pages)
    health.memory_bytes = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  if (const fs::path group = memory_group(root); !group.empty()) {
    health.used_bytes = number_at(group / "memory.current");
    health.limit_bytes = number_at(group / "memory.max");  // "max" is not a number.
  }
  if (health.used_bytes && health.limit_bytes) return;
  const std::string machine = read_system_file(root / "proc/meminfo");
  const auto total = kilobytes_of(machine, "MemTotal:");
  const auto free = kilobytes_of(machine, "MemAvailable:");
  if (!total || !free || *free > *total) return;
  health.limit_bytes = total;
  health.used_bytes = *total - *free;
}

}  // namespace

MachineHealth read_machine_health(const std::string& root) {
  const fs::path base = root.empty() ? "/" : root;
  MachineHealth health;
  read_memory(base, health);
  const fs::path controllers = base / "sys/devices/system/edac/mc";
  health.corrected_errors = sum_of(controllers, "mc", "ce_count");
  health.uncorrected_errors = sum_of(controllers, "mc", "ue_count");
  health.throttled =
      sum_of(base / "sys/devices/system/cpu", "cpu", "thermal_throttle/core_throttle_count");
  return health;
}

}  // namespace crochet::inline v0::internal
