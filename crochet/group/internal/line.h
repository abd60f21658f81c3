// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "crochet/base/internal/export.h"
#include "crochet/group/internal/socket.h"

namespace crochet::inline v0::internal {

// A connection on which messages arrive whole. No call blocks.
//
// Functions throw an UnavailableError for an error of the connection, also if the other side is
// another program.
class CROCHET_EXPORT Line {
 public:
  explicit Line(Socket socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.fd(); }
  // What poll() shall wait for.
  short events() const;
  // The longest message that is accepted: a stranger may send anything.
  void accept_up_to(uint64_t bytes) { longest_ = bytes; }

  // Sends the message, as far as it fits; flush() sends the rest.
  void send(std::string_view message);
  // Returns true once all is sent.
  bool flush();
  // A message that has arrived. Reads what there is.
  std::optional<std::string> take();
  // False once the other side has ended the connection, and all its messages are taken.
  bool is_open() const { return is_open_; }

 private:
  std::optional<std::string> take_received();

  Socket socket_;
  std::string sending_;
  size_t num_sent_ = 0;  // Of `sending_`.
  std::string received_;
  uint64_t longest_ = std::numeric_limits<int64_t>::max();
  bool is_open_ = true;
};

}  // namespace crochet::inline v0::internal
