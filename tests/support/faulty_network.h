// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <list>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "tests/support/wait_until.h"

namespace crochet::inline v0 {

// A bad network on the loopback interface: passes on what arrives at its port to another port, and
// back, until it shall stall (nothing arrives any more, and nothing ends), to drop (all
// connections end) or to be slow.
class FaultyNetwork {
 public:
  explicit FaultyNetwork(uint16_t target) : target_(target), listener_(open()) {
    sockaddr_in address = loopback(0);
    socklen_t length = sizeof(address);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        ::listen(listener_, SOMAXCONN) != 0)
      throw std::runtime_error("cannot listen");
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { work(); });
  }
  ~FaultyNetwork() {
    is_stopped_ = true;
    thread_.join();
    ::close(listener_);
    for (const auto& [one, other] : pairs_) ::close(one), ::close(other);
  }
  FaultyNetwork(const FaultyNetwork&) = delete;
  FaultyNetwork& operator=(const FaultyNetwork&) = delete;

  uint16_t port() const { return port_; }
  // From the return of these on.
  void stall() { set(is_stalled_); }
  void drop() { set(is_dropping_); }
  void delay(std::chrono::milliseconds by) { delay_millis_ = static_cast<int>(by.count()); }

 private:
  static int open() { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }
  static sockaddr_in loopback(uint16_t port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  void set(std::atomic<bool>& flag) {
    flag = true;
    const int next = num_rounds_ + 2;
    wait_until("the network", [&] { return num_rounds_ >= next; });
  }

  void work() {
    while (!is_stopped_) {
      ++num_rounds_;
      std::vector<pollfd> events = {{.fd = listener_, .events = POLLIN, .revents = 0}};
      if (!is_stalled_)
        for (const auto& [one, other] : pairs_)
          for (const int fd : {one, other})
            events.push_back({.fd = fd, .events = POLLIN, .revents = 0});
      ::poll(events.data(), events.size(), /*timeout=*/5);
      if (events.front().revents != 0) accept();
      pairs_.remove_if([&](const auto& pair) {
        if (is_stalled_) return false;
        if (!is_dropping_ && pass(pair.first, pair.second) && pass(pair.second, pair.first))
          return false;
        ::close(pair.first);
        ::close(pair.second);
        return true;
      });
    }
  }

  void accept() {
    const int from = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int to = open();
    const sockaddr_in address = loopback(target_);
    if (::connect(to, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
      pairs_.emplace_back(from, to);
    } else {
      ::close(from);
      ::close(to);
    }
  }

  // Returns false at the end of the connection.
  bool pass(int from, int to) const {
    std::array<char, 65536> bytes;
    const ssize_t length = ::recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (length < 0) return errno == EAGAIN;
    if (length == 0) return false;
    ::poll(nullptr, 0, delay_millis_);
    return ::send(to, bytes.data(), static_cast<size_t>(length), MSG_NOSIGNAL) == length;
  }

  const uint16_t target_;
  const int listener_;
  uint16_t port_ = 0;
  std::atomic<bool> is_stalled_ = false;
  std::atomic<bool> is_dropping_ = false;
  std::atomic<bool> is_stopped_ = false;
  std::atomic<int> delay_millis_ = 0;
  std::atomic<int> num_rounds_ = 0;
  std::list<std::pair<int, int>> pairs_;  // Of the thread.
  std::thread thread_;
};

}  // namespace crochet::inline v0
