// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/absent_members.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <netdb.h>

#include "crochet/engines/tensorflow/cluster_spec.h"
#include "crochet/engines/tensorflow/internal/proto_reader.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

constexpr uint32_t kDeviceFilters = 4;  // Of ConfigProto.
constexpr int kConnectMillis = 500;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// "" if the address accepts a connection, otherwise the error.
std::string connection_error(const addrinfo& address) {
  const int number = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (number < 0) return std::strerror(errno);
  int error = connect(number, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd waiting = {.fd = number, .events = POLLOUT, .revents = 0};
    error = ETIMEDOUT;
    socklen_t size = sizeof(error);
    if (poll(&waiting, 1, kConnectMillis) > 0)
      getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  ::close(number);
  return error == 0 ? "" : std::strerror(error);
}

std::string connection_error(std::string_view address) {
  const size_t colon = address.rfind(':');
  std::string host(address.substr(0, colon));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port(address.substr(colon + 1));
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0)
    return gai_strerror(error);
  const Addresses addresses(found, &freeaddrinfo);
  std::string reason;
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    reason = connection_error(*one);
    if (reason.empty()) return "";
  }
  return reason;
}

std::vector<DeviceName> filters_of(std::string_view config) {
  std::vector<DeviceName> filters;
  ProtoReader(config, "ConfigProto").read(bytes_at(kDeviceFilters, [&](ProtoReader& value) {
    if (const auto filter = parse_device_name(value.view())) filters.push_back(*filter);
  }));
  return filters;
}

}  // namespace

std::vector<std::string> absent_members(const ClusterSpec& cluster, std::string_view config) {
  const std::vector<DeviceName> filters = filters_of(config);
  const auto is_seen = [&](const std::string& job, int task) {
    return filters.empty() || std::ranges::any_of(filters, [&](const DeviceName& filter) {
             return filter.job.value_or(job) == job && filter.task.value_or(task) == task;
           });
  };
  std::vector<std::string> absent;
  for (const auto& [job, addresses] : cluster.jobs())
    for (int task = 0; task < cluster.num_tasks(job); ++task) {
      const std::string& address = cluster.task_address(job, task);
      if (!is_seen(job, task) || port_of_address(address) == 0) continue;
      if (const std::string error = connection_error(address); !error.empty())
        absent.push_back(fmt::format("{} at {} ({})", task_device(job, task), address, error));
    }
  return absent;
}

}  // namespace crochet::inline v0::tensorflow::internal
