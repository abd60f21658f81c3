// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/group/group.h"

namespace crochet::inline v0::internal {

// A socket of TCP, in which no call blocks. A forked child has none: if it kept the connection of
// its parent open, nobody would notice that the parent ends.
//
// Functions throw an UnavailableError for an error of the connection.
class CROCHET_EXPORT Socket {
 public:
  Socket() = default;
  explicit Socket(int fd);
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;

  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close() noexcept;

  // Sends what fits. Returns how much.
  size_t send(std::string_view bytes) const;
  // Appends what has arrived, up to 64 KiB. Returns false at the end of the connection.
  bool receive(std::string& bytes) const;

 private:
  int fd_ = -1;
};

struct Address {
  std::string host;
  uint16_t port = 0;

  CROCHET_EXPORT std::string text() const;  // "10.0.0.1:29500"
};

// Listens on all interfaces; on a free port if `port` is 0. Unset if the port is in use.
CROCHET_EXPORT std::optional<Socket> listen_on(uint16_t port);
CROCHET_EXPORT uint16_t port_of(const Socket& listener);
// Without a socket if nobody waits.
CROCHET_EXPORT Socket accept_from(const Socket& listener);
// Returns once there is a connection. Throws: UnavailableError, also if the limit is over.
CROCHET_EXPORT Socket connect_to(const Address& address, WaitLimit& limit);
// The kernel asks the other host for a sign of life when nothing was received for a second, and
// ends the connection after three or four. The other's kernel answers, however busy or suspended
// its processes are. Requires: so little is sent that the other's kernel can always take it, as it
// would otherwise be taken for lost while its process is suspended.
void expect_signs_of_life(int fd);
// Where other hosts may reach this one, and this host itself.
std::vector<std::string> own_hosts();
// "pid 4242 on node7".
CROCHET_EXPORT std::string own_process();

}  // namespace crochet::inline v0::internal
