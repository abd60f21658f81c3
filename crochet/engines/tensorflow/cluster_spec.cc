// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/cluster_spec.h"

#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::tensorflow {
namespace {

constexpr unsigned kLargestPort = 65535;

bool is_host(std::string_view host) {
  if (host.empty()) return false;
  const bool is_bracketed = host.front() == '[' && host.back() == ']' && host.size() > 2;
  const std::string_view inner = is_bracketed ? host.substr(1, host.size() - 2) : host;
  return inner.find_first_of(is_bracketed ? "[]/, \t\n" : "[]/, \t\n:") == std::string_view::npos;
}

// The same for "host:2222" and "host:02222".
std::string normalized(std::string_view address, int port) {
  return fmt::format("{}:{}", address.substr(0, address.rfind(':')), port);
}

std::string names_of(const ClusterSpec::Jobs& jobs) {
  std::vector<std::string> names;
  for (const auto& [name, addresses] : jobs) names.push_back(fmt::format("\"{}\"", name));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

int port_of_address(std::string_view address) {
  const size_t colon = address.rfind(':');
  unsigned port = kLargestPort + 1;  // Unsigned: "-0" is invalid.
  if (colon != std::string_view::npos && is_host(address.substr(0, colon))) {
    const char* const end = address.data() + address.size();
    const auto [behind, error] = std::from_chars(address.data() + colon + 1, end, port);
    if (behind != end || error != std::errc()) port = kLargestPort + 1;
  }
  if (port > kLargestPort)
    throw InvalidArgumentError(
        fmt::format("\"{}\" is not an address: expected \"host:port\", with a port of at most {}",
                    address, kLargestPort));
  return static_cast<int>(port);
}

std::string task_device(std::string_view job, int task) {
  return fmt::format("/job:{}/task:{}", job, task);
}

ClusterSpec::ClusterSpec(Jobs jobs) : jobs_(std::move(jobs)) {
  if (jobs_.empty()) throw InvalidArgumentError("a cluster needs at least one job");
  std::map<std::string, std::string> tasks;  // By address.
  for (const auto& [job, addresses] : jobs_) {
    if (!is_legal_job_name(job))
      throw InvalidArgumentError(fmt::format("\"{}\" is not a valid name for a job", job));
    if (addresses.empty())
      throw InvalidArgumentError(fmt::format("the job \"{}\" has no tasks", job));
    for (size_t task = 0; task < addresses.size(); ++task) {
      const std::string name = task_device(job, static_cast<int>(task));
      int port = 0;
      try {
        port = port_of_address(addresses[task]);
      } catch (const InvalidArgumentError& error) {
        throw InvalidArgumentError(fmt::format("{}: {}", name, error.what()));
      }
      if (port == 0) continue;
      const auto [other, is_new] = tasks.emplace(normalized(addresses[task], port), name);
      if (!is_new)
        throw InvalidArgumentError(fmt::format("{} and {} have the same address, {}", other->second,
                                               name, addresses[task]));
    }
  }
}

const std::vector<std::string>& ClusterSpec::addresses(std::string_view job) const {
  const auto found = jobs_.find(std::string(job));
  if (found == jobs_.end())
    throw InvalidArgumentError(
        fmt::format("the cluster has no job \"{}\": it has {}", job, names_of(jobs_)));
  return found->second;
}

int ClusterSpec::num_tasks(std::string_view job) const {
  return static_cast<int>(addresses(job).size());
}

const std::string& ClusterSpec::task_address(std::string_view job, int task) const {
  const std::vector<std::string>& all = addresses(job);
  if (task < 0 || static_cast<size_t>(task) >= all.size())
    throw InvalidArgumentError(
        fmt::format("the job \"{}\" has no task {}: it has {}, from 0 on", job, task, all.size()));
  return all[static_cast<size_t>(task)];
}

}  // namespace crochet::inline v0::tensorflow
