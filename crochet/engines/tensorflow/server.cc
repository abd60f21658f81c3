// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include <fmt/format.h>
#include <netinet/in.h>
#include <protozero/pbf_writer.hpp>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/engines/tensorflow/cluster_spec.h"
#include "crochet/engines/tensorflow/internal/c_api.h"
#include "crochet/engines/tensorflow/internal/status.h"

namespace crochet::inline v0::tensorflow {
namespace {

// The server of this process: never deleted, as that would abort the process.
struct ProcessServer {
  std::mutex mutex;  // Guards what follows.
  TF_Server* server = nullptr;
  std::string device = {};
  std::string target = {};        // TensorFlow's name for it.
  std::string other_target = {};  // Another one, on the loopback interface.
  std::optional<ClusterSpec> cluster = {};
};

ProcessServer& process_server() {
  static ProcessServer* const server = new ProcessServer;
  return *server;
}

class Socket {
 public:
  explicit Socket(int family) : number_(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (number_ >= 0) ::close(number_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int number() const { return number_; }

 private:
  const int number_;
};

// Binds to the port on all interfaces; port 0 is any. Returns 0 or an errno.
template <typename Address>
int bind_error(const Socket& socket, Address address, in_port_t Address::*port_member, int& port) {
  if (socket.number() < 0) return errno;
  // As TensorFlow does: recently closed connections do not block the port.
  const int on = 1;
  setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  address.*port_member = htons(static_cast<uint16_t>(port));
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  if (bind(socket.number(), generic, size) != 0) return errno;
  if (getsockname(socket.number(), generic, &size) != 0) return errno;
  port = ntohs(address.*port_member);
  return 0;
}

int bind_error(int& port) {
  const Socket six(AF_INET6);
  sockaddr_in6 any_six = {};
  any_six.sin6_family = AF_INET6;
  any_six.sin6_addr = in6addr_any;
  const int error = bind_error(six, any_six, &sockaddr_in6::sin6_port, port);
  if (error == 0 || error == EADDRINUSE || error == EACCES) return error;
  // The machine has no IPv6.
  const Socket four(AF_INET);
  sockaddr_in any_four = {};
  any_four.sin_family = AF_INET;
  any_four.sin_addr.s_addr = htonl(INADDR_ANY);
  return bind_error(four, any_four, &sockaddr_in::sin_port, port);
}

// TensorFlow's error is only that a server could not be started.
void check_port_is_free(const std::string& device, const std::string& address) {
  int port = port_of_address(address);
  if (port == 0) return;
  const int error = bind_error(port);
  if (error == 0) return;
  if (error == EACCES)
    throw PermissionDeniedError(fmt::format("server of {}: not permitted to use port {}: {}",
                                            device, port, std::strerror(error)));
  throw FailedPreconditionError(fmt::format("server of {}: port {} of {} is not available: {}",
                                            device, port, address, std::strerror(error)));
}

void add_job(protozero::pbf_writer& cluster, const std::string& name,
             const std::vector<std::string>& addresses) {
  protozero::pbf_writer job(cluster, 1);
  job.add_string(1, name);
  for (size_t task = 0; task < addresses.size(); ++task) {
    protozero::pbf_writer entry(job, 2);
    entry.add_int32(1, static_cast<int32_t>(task));
    entry.add_string(2, addresses[task]);
  }
}

}  // namespace

namespace internal {

std::string target_by_network(const std::string& target) {
  ProcessServer& process = process_server();
  const std::lock_guard lock(process.mutex);
  return target == process.target ? process.other_target : target;
}

std::optional<Member> own_member_at(const std::string& target) {
  ProcessServer& process = process_server();
  const std::lock_guard lock(process.mutex);
  if (target.empty() || (target != process.target && target != process.other_target))
    return std::nullopt;
  return Member{*parse_device_name(process.device), *process.cluster};
}

std::string server_definition(const ServerOptions& options) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  {
    protozero::pbf_writer cluster(message, 1);
    for (const auto& [name, addresses] : options.cluster.jobs()) add_job(cluster, name, addresses);
  }
  message.add_string(2, options.job_name);
  message.add_int32(3, options.task_index);
  if (!options.config.serialized.empty()) message.add_message(4, options.config.serialized);
  message.add_string(5, "grpc");
  return bytes;
}

int find_free_port() {
  int port = 0;
  if (const int error = bind_error(port); error != 0)
    throw UnknownError(fmt::format("cannot find a free port: {}", std::strerror(error)));
  return port;
}

}  // namespace internal

Server::Server(const ServerOptions& options) {
  const std::string& address = options.cluster.task_address(options.job_name, options.task_index);
  const std::string device = task_device(options.job_name, options.task_index);
  internal::operation_timeout_of(options.config.serialized);
  ProcessServer& process = process_server();
  const std::lock_guard lock(process.mutex);
  if (process.server != nullptr)
    throw FailedPreconditionError(fmt::format(
        "server of {}: this process is already {}, until it ends", device, process.device));
  check_port_is_free(device, address);
  const std::string definition = internal::server_definition(options);
  internal::Status status;
  TF_Server* const server = TF_NewServer(definition.data(), definition.size(), status.get());
  status.check(fmt::format("server of {} at {}", device, address));
  process.server = server;
  process.device = device;
  process.cluster = options.cluster;
  TF_ServerStart(server, status.get());
  status.check(fmt::format("server of {} at {}", device, address));
  process.target = TF_ServerTarget(server);
  port_ = port_of_address(process.target.substr(process.target.rfind('/') + 1));
  target_ = fmt::format("grpc://127.0.0.1:{}", port_);
  if (target_ == process.target) target_ = fmt::format("grpc://localhost:{}", port_);
  process.other_target = target_;
  log_info(fmt::format("{} listens on port {} of all interfaces", device, port_));
}

void Server::join() const {
  // TF_ServerJoin waits for a stop, which TensorFlow does not implement for its servers.
  while (true) pause();
}

}  // namespace crochet::inline v0::tensorflow
