// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <c10/util/intrusive_ptr.h>

#include "crochet/base/export.h"
#include "crochet/group/key_value_store.h"

namespace c10d {
class Store;
}  // namespace c10d

namespace crochet::inline v0::libtorch {

struct TcpStoreOptions {
  std::string host = {};
  uint16_t port = 0;  // A server on port 0 takes a free one.
  bool is_server = false;
  // The most seconds until there is a connection, and that an operation takes.
  double timeout_secs = 300;
  // Who asks, for messages: "rank 2 of 4".
  std::string who = {};
};

// Throws: UnavailableError that names who asks, the host and the port.
c10::intrusive_ptr<c10d::Store> open_tcp_store(const TcpStoreOptions& options);
// That of a store which open_tcp_store() has opened.
uint16_t port_of(const c10d::Store& store);

// The table of a c10d::Store.
//
// It never uses Store::wait: LibTorch 1.13 reads the late answer of a wait that has timed out as
// the answer to the next question.
class CROCHET_EXPORT C10dStore final : public KeyValueStore {
 public:
  // `where` is for messages: "rank 2 of 4: the store at 10.0.0.1:29500".
  C10dStore(c10::intrusive_ptr<c10d::Store> store, std::string where);
  ~C10dStore() override;

  void set(const std::string& key, std::string_view value) override;
  std::optional<std::string> get(const std::string& key, Clock::Duration timeout) override;
  int64_t add(const std::string& key, int64_t amount) override;
  void remove(const std::string& key) override;

 private:
  // One entry of the store: a value, or the number of the pieces of a long one.
  struct Stored {
    std::string value = {};
    size_t num_pieces = 0;
  };

  void set_one(const std::string& key, uint8_t mark, std::string_view value);
  std::optional<std::string> get(const std::string& key);
  std::optional<Stored> get_one(const std::string& key);

  const c10::intrusive_ptr<c10d::Store> store_;
  const std::string where_;
};

}  // namespace crochet::inline v0::libtorch
