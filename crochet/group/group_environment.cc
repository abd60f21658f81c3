// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/escape.h"
#include "crochet/group/join.h"

namespace crochet::inline v0 {
namespace {

using Lookup = GroupEnvironment::Lookup;

constexpr int kMaxInt = std::numeric_limits<int>::max();

// The names under which a launcher passes on what a process is.
struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
  const char* local_rank;
};

constexpr Launcher kTorchrun = {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"};
constexpr Launcher kOpenMpi = {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                               "OMPI_COMM_WORLD_LOCAL_RANK"};
constexpr Launcher kMpich = {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"};
constexpr Launcher kSlurm = {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"};
constexpr Launcher kSlurmJob = {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"};

std::optional<int> number(const Lookup& lookup, const char* name, int least, int most) {
  const std::optional<std::string> text = lookup(name);
  if (!text) return std::nullopt;
  int value = 0;
  const char* const end = text->data() + text->size();
  const auto [parsed, error] = std::from_chars(text->data(), end, value);
  if (error == std::errc() && parsed == end && value >= least && value <= most) return value;
  const std::string expected = most == kMaxInt ? fmt::format("a number from {}", least)
                                               : fmt::format("a number from {} to {}", least, most);
  throw InvalidArgumentError(fmt::format("environment variable {} is \"{}\", expected {}", name,
                                         internal::escape_name(*text), expected));
}

[[noreturn]] void throw_missing(const char* missing, const char* found) {
  throw InvalidArgumentError(fmt::format(
      "environment variable {} is missing, expected beside {}, which is set", missing, found));
}

// Unset if the launcher's variables are not there.
std::optional<GroupEnvironment> read(const Lookup& lookup, const Launcher& launcher) {
  const std::optional<int> size = number(lookup, launcher.size, 1, kMaxInt);
  const std::optional<int> rank =
      number(lookup, launcher.rank, 0, size.value_or(kMaxInt) == kMaxInt ? kMaxInt : *size - 1);
  if (!rank && !size) return std::nullopt;
  if (!rank) throw_missing(launcher.rank, launcher.size);
  if (!size) throw_missing(launcher.size, launcher.rank);
  GroupEnvironment found;
  found.launcher = launcher.name;
  found.rank = *rank;
  found.size = *size;
  found.local_rank = number(lookup, launcher.local_rank, 0, *size - 1).value_or(0);
  return found;
}

// A batch script has some of the variables, too, but is not one of the tasks.
std::optional<GroupEnvironment> read_slurm(const Lookup& lookup) {
  if (!lookup("SLURM_STEP_ID") && !lookup("SLURM_STEPID")) return std::nullopt;
  return read(lookup, lookup(kSlurm.size) ? kSlurm : kSlurmJob);
}

// "node07" of "node[07-12,20],other".
std::string first_host(const std::string& list) {
  const size_t end = list.find_first_of(",[");
  std::string host = list.substr(0, end);
  if (end == std::string::npos || list[end] == ',') return host;
  const size_t number_end = list.find_first_of(",-]", end);
  host += list.substr(end + 1, number_end == std::string::npos ? number_end : number_end - end - 1);
  const size_t close = list.find(']', end);
  if (close == std::string::npos) return host;
  return host + list.substr(close + 1, list.find(',', close) - close - 1);
}

std::string first_of(const Lookup& lookup, std::initializer_list<const char*> names) {
  for (const char* const name : names)
    if (const std::optional<std::string> value = lookup(name)) return *value;
  return "";
}

// Several steps of a job of Slurm may run at the same time.
std::string job_of(const Lookup& lookup) {
  std::string job = first_of(lookup, {"CROCHET_JOB", "TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE"});
  if (!job.empty()) return job;
  job = first_of(lookup, {"SLURM_JOB_ID"});
  const std::string step = first_of(lookup, {"SLURM_STEP_ID", "SLURM_STEPID"});
  return job.empty() || step.empty() ? job : job + "." + step;
}

void check_agreement(const Lookup& lookup, const GroupEnvironment& own) {
  // A torchrun that MPI has started on each machine has ranks of its own.
  if (lookup("TORCHELASTIC_RUN_ID")) return;
  for (const Launcher& other : {kOpenMpi, kMpich}) {
    const auto theirs = read(lookup, other);
    if (!theirs) continue;
    const auto check = [](const char* name, int found, const char* other_name, int expected) {
      if (found != expected)
        throw InvalidArgumentError(fmt::format("environment variable {} is {}, expected {} as {}",
                                               name, found, expected, other_name));
    };
    check(kTorchrun.size, own.size, other.size, theirs->size);
    check(kTorchrun.rank, own.rank, other.rank, theirs->rank);
  }
}

GroupEnvironment read_any(const Lookup& lookup) {
  if (const auto found = read(lookup, kTorchrun)) {
    check_agreement(lookup, *found);
    return *found;
  }
  if (const auto found = read(lookup, kOpenMpi)) return *found;
  if (const auto found = read(lookup, kMpich)) return *found;
  if (const auto found = read_slurm(lookup)) {
    GroupEnvironment slurm = *found;
    slurm.master_addr = first_host(first_of(lookup, {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}));
    return slurm;
  }
  return {};
}

}  // namespace

GroupEnvironment GroupEnvironment::from_environment() {
  return from_environment([](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
  });
}

GroupEnvironment GroupEnvironment::from_environment(const Lookup& lookup) {
  GroupEnvironment found = read_any(lookup);
  if (const auto address = lookup("MASTER_ADDR")) found.master_addr = *address;
  found.master_port = number(lookup, "MASTER_PORT", 1, 65535);
  if (found.launcher == kTorchrun.name && found.master_port && found.master_addr.empty())
    throw_missing("MASTER_ADDR", "MASTER_PORT");
  if (found.launcher == kTorchrun.name && !found.master_port && !found.master_addr.empty())
    throw_missing("MASTER_PORT", "MASTER_ADDR");
  const char* const restarts =
      found.launcher == kSlurm.name ? "SLURM_RESTART_COUNT" : "TORCHELASTIC_RESTART_COUNT";
  found.restart_count = number(lookup, restarts, 0, kMaxInt).value_or(0);
  found.job = job_of(lookup);
  found.uses_agent_store = lookup("TORCHELASTIC_USE_AGENT_STORE") == "True";
  return found;
}

std::string GroupEnvironment::master_address() const {
  if (master_addr.empty() || !master_port)
    throw FailedPreconditionError(
        fmt::format("environment variable {} is missing: {} processes need it to find each other",
                    master_addr.empty() ? "MASTER_ADDR" : "MASTER_PORT", size));
  return fmt::format("{}:{}", master_addr, *master_port);
}

}  // namespace crochet::inline v0
