// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/group/internal/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/immortal.h"
#include "crochet/base/internal/process_owner.h"
#include "crochet/group/internal/limited_call.h"

namespace crochet::inline v0::internal {
namespace {

// All sockets of this process. A forked child closes them.
class OpenSockets {
 public:
  static OpenSockets& instance() {
    static Immortal<OpenSockets> sockets;
    return *sockets;
  }

  OpenSockets() { add_fork_actions(actions_); }
  void add(int fd) {
    const std::lock_guard lock(mutex_);
    fds_.insert(fd);
  }
  void close(int fd) {
    const std::lock_guard lock(mutex_);
    // In a forked child it is closed, and the number may be that of something else.
    if (fds_.erase(fd) > 0) ::close(fd);
  }

 private:
  static void before_fork() { instance().mutex_.lock(); }
  static void in_parent() { instance().mutex_.unlock(); }
  static void in_child() {
    OpenSockets& sockets = instance();
    for (const int fd : sockets.fds_) ::close(fd);
    sockets.fds_.clear();
    sockets.mutex_.unlock();
  }

  ForkActions actions_ = {.before = &before_fork, .in_parent = &in_parent, .in_child = &in_child};
  std::mutex mutex_;
  std::set<int> fds_;
};

[[noreturn]] void throw_unavailable(int error) {
  throw UnavailableError(std::generic_category().message(error));
}

bool is_for_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

void set_option(int fd, int level, int name, int value) {
  ::setsockopt(fd, level, name, &value, sizeof(value));
}

Socket open_socket(int family) {
  return Socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

Socket listen_on(uint16_t port, int family, const sockaddr* address, socklen_t length) {
  Socket socket = open_socket(family);
  if (!socket) throw_unavailable(errno);
  set_option(socket.fd(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (family == AF_INET6) set_option(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(socket.fd(), address, length) != 0 || ::listen(socket.fd(), SOMAXCONN) != 0) {
    if (errno == EADDRINUSE) return {};
    throw UnavailableError(
        fmt::format("cannot listen on port {}: {}", port, std::generic_category().message(errno)));
  }
  return socket;
}

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// Names are looked up by servers, for which there is no limit in the call.
std::shared_ptr<AddressList> look_up(const Address& address, WaitLimit& limit) {
  return call_within(limit, "looking up " + address.host, [address] {
    addrinfo hints = {};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error =
        ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
    if (error != 0)
      throw UnavailableError(fmt::format("looking up {}: {}", address.host, ::gai_strerror(error)));
    return std::make_shared<AddressList>(found, &::freeaddrinfo);
  });
}

// Returns the error of the attempt.
int wait_for_connection(const Socket& socket, WaitLimit& limit) {
  pollfd event = {.fd = socket.fd(), .events = POLLOUT, .revents = 0};
  while (::poll(&event, 1,
                std::max(1, static_cast<int>(limit.pause() / std::chrono::milliseconds(1)))) <= 0)
    if (limit.is_over()) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof(error);
  ::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

}  // namespace

Socket::Socket(int fd) : fd_(fd) {
  if (fd < 0) return;
  OpenSockets::instance().add(fd);
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

Socket::Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = std::exchange(other.fd_, -1);
  return *this;
}

void Socket::close() noexcept {
  if (fd_ >= 0) OpenSockets::instance().close(std::exchange(fd_, -1));
}

size_t Socket::send(std::string_view bytes) const {
  const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<size_t>(sent);
  if (!is_for_later(errno)) throw_unavailable(errno);
  return 0;
}

bool Socket::receive(std::string& bytes) const {
  std::array<char, 1 << 16> part;
  const ssize_t received = ::recv(fd_, part.data(), part.size(), 0);
  if (received == 0) return false;
  if (received > 0)
    bytes.append(part.data(), static_cast<size_t>(received));
  else if (!is_for_later(errno))
    throw_unavailable(errno);
  return true;
}

std::string Address::text() const { return fmt::format("{}:{}", host, port); }

std::optional<Socket> listen_on(uint16_t port) {
  sockaddr_in6 any6 = {};
  any6.sin6_family = AF_INET6;
  any6.sin6_addr = in6addr_any;
  any6.sin6_port = htons(port);
  sockaddr_in any4 = {};
  any4.sin_family = AF_INET;
  any4.sin_port = htons(port);
  Socket socket;
  try {
    socket = listen_on(port, AF_INET6, reinterpret_cast<const sockaddr*>(&any6), sizeof(any6));
  } catch (const UnavailableError&) {  // A host without IPv6.
    socket = listen_on(port, AF_INET, reinterpret_cast<const sockaddr*>(&any4), sizeof(any4));
  }
  if (!socket) return std::nullopt;
  return socket;
}

uint16_t port_of(const Socket& listener) {
  sockaddr_in6 address = {};
  socklen_t length = sizeof(address);
  ::getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin6_port);  // At the same place as in sockaddr_in.
}

Socket accept_from(const Socket& listener) {
  return Socket(::accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

Socket connect_to(const Address& address, WaitLimit& limit) {
  const std::shared_ptr<AddressList> found = look_up(address, limit);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* each = found->get(); each != nullptr; each = each->ai_next) {
    Socket socket = open_socket(each->ai_family);
    if (!socket) continue;
    error = ::connect(socket.fd(), each->ai_addr, each->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) error = wait_for_connection(socket, limit);
    if (error == 0) return socket;
  }
  throw_unavailable(error);
}

void expect_signs_of_life(int fd) {
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 2);
  // While something that was sent is under way, the kernel does not ask.
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 3000);
}

std::vector<std::string> own_hosts() {
  std::vector<std::string> hosts;
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) return {"127.0.0.1"};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(found, &::freeifaddrs);
  for (const ifaddrs* each = found; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    std::array<char, INET_ADDRSTRLEN> text = {};
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr,
                text.data(), text.size());
    hosts.emplace_back(text.data());
  }
  return hosts;
}

std::string own_process() {
  std::array<char, 256> name = {};
  ::gethostname(name.data(), name.size() - 1);
  return fmt::format("pid {} on {}", ::getpid(), name.data());
}

}  // namespace crochet::inline v0::internal
