// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/process_facts.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <mutex>
#include <sstream>
#include <system_error>

#include <limits.h>

#include "crochet/base/internal/immortal.h"

namespace crochet::inline v0::internal {
namespace {

struct Libraries {
  std::mutex mutex;  // Guards what follows.
  std::vector<std::string> texts;
};

Libraries& known_libraries() {
  static Immortal<Libraries> known;
  return *known;
}

constexpr size_t kMaxBytes = size_t{64} << 10;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// The number after `name` and a space, at the beginning of a line.
std::optional<int64_t> number_after(const std::string& text, std::string_view name) {
  std::istringstream lines(text);
  for (std::string word, value; lines >> word >> value;) {
    int64_t number = 0;
    const char* const end = value.data() + value.size();
    if (word != name) continue;
    const auto [rest, error] = std::from_chars(value.data(), end, number);
    if (error == std::errc() && rest == end) return number;
  }
  return std::nullopt;
}

// The directories that may be that of the process's memory group, the likeliest first, from
// /proc/self/cgroup: "0::/a/b" has all controllers of version 2, "4:memory:/a/b" is one of version
// 1. A container often sees its own group where the machine has the root.
std::vector<std::string> memory_groups(const std::string& cgroups) {
  const std::string mounts = "/sys/fs/cgroup";
  std::vector<std::string> groups;
  std::istringstream lines(cgroups);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers == "memory") groups.push_back(mounts + "/memory" + path);
    if (controllers.empty()) groups.push_back(mounts + path);
  }
  groups.push_back(mounts + "/memory");
  groups.push_back(mounts);
  return groups;
}

}  // namespace

std::string read_system_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "(unknown)";
}

void add_library(std::string_view name, std::string_view version) {
  std::string text(name);
  text.append(" ").append(version);
  Libraries& known = known_libraries();
  const std::lock_guard lock(known.mutex);
  if (std::ranges::find(known.texts, text) == known.texts.end())
    known.texts.push_back(std::move(text));
}

std::vector<std::string> libraries() {
  Libraries& known = known_libraries();
  const std::lock_guard lock(known.mutex);
  return known.texts;
}

std::string boot_of_machine() {
  return first_line(read_system_file("/proc/sys/kernel/random/boot_id"));
}

// The 22nd field of "pid (name) state ...", of which the name may contain anything.
std::string start_of_process(int64_t pid) {
  const std::string stat = read_system_file("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return "";
  constexpr int kFieldsAfterName = 20;
  std::istringstream rest(stat.substr(name_end + 1));
  std::string field;
  for (int i = 0; i < kFieldsAfterName; ++i)
    if (!(rest >> field)) return "";
  return field;
}

std::optional<int64_t> oom_kills_of(const std::string& memory_group) {
  if (memory_group.empty()) return std::nullopt;
  if (const auto kills =
          number_after(read_system_file(memory_group + "/memory.events"), "oom_kill"))
    return kills;
  return number_after(read_system_file(memory_group + "/memory.oom_control"), "oom_kill");
}

ProcessFacts facts_of_this_process() {
  ProcessFacts facts{.pid = ::getpid(), .host = host_name(), .boot = boot_of_machine()};
  facts.started = start_of_process(facts.pid);
  for (const std::string& group : memory_groups(read_system_file("/proc/self/cgroup"))) {
    facts.oom_kills = oom_kills_of(group);
    if (!facts.oom_kills) continue;
    facts.memory_group = group;
    break;
  }
  return facts;
}

}  // namespace crochet::inline v0::internal
