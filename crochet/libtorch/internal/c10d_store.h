// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <c10/util/intrusive_ptr.h>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"

namespace c10d {
class Store;
}  // namespace c10d

namespace crochet::inline v0::libtorch::internal {

struct TcpStoreOptions {
  std::string host = {};
  uint16_t port = 0;  // A server on port 0 takes a free one.
  bool is_server = false;
  // The most seconds until there is a connection.
  double timeout_secs = 300;
  // Who asks, for messages: "rank 2 of 4".
  std::string who = {};
};

// Throws: UnavailableError that names who asks, the host and the port, at the latest after the
// limit.
c10::intrusive_ptr<c10d::Store> open_tcp_store(const TcpStoreOptions& options);
// That of a store which open_tcp_store() has opened.
uint16_t port_of(const c10d::Store& store);

// A table of names and short texts, in a c10d::Store. Each call ends within a limit: those of
// LibTorch's stores may block forever if the network is silent, and run on a thread that is then
// left to itself. Functions throw an UnavailableError if the store is out of reach.
//
// It never uses Store::wait: LibTorch 1.13 reads the late answer of a wait that has timed out as
// the answer to the next question.
class CROCHET_EXPORT C10dStore {
 public:
  // `where` is for messages: "rank 2 of 4: the store at 10.0.0.1:29500". A call takes `call_secs`
  // at most.
  C10dStore(c10::intrusive_ptr<c10d::Store> store, std::string where, double call_secs);
  ~C10dStore();

  void set(const std::string& key, std::string_view value);
  // The value, once the key has one; unset if it still has none after `timeout`, which may be 0.
  std::optional<std::string> get(const std::string& key, Clock::Duration timeout);
  // Adds to a number, which is 0 at first, at once for all ranks. Returns the sum.
  int64_t add(const std::string& key, int64_t amount);

 private:
  std::optional<std::string> get(const std::string& key);
  // What `operation` makes of the store, with crochet's errors. It owns all that it uses.
  template <typename Operation>
  auto limited(Operation operation);

  const c10::intrusive_ptr<c10d::Store> store_;
  const std::string where_;
  const double call_secs_;
};

}  // namespace crochet::inline v0::libtorch::internal
