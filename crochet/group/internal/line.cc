// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/group/internal/line.h"

#include <poll.h>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/group/internal/message_bytes.h"

namespace crochet::inline v0::internal {
namespace {

constexpr size_t kLengthBytes = sizeof(int64_t);

}  // namespace

short Line::events() const {
  return static_cast<short>(sending_.empty() ? POLLIN : POLLIN | POLLOUT);
}

void Line::send(std::string_view message) {
  sending_ += MessageWriter().text(message).take();
  flush();
}

bool Line::flush() {
  num_sent_ += socket_.send(std::string_view(sending_).substr(num_sent_));
  if (num_sent_ < sending_.size()) return false;
  sending_.clear();
  num_sent_ = 0;
  return true;
}

std::optional<std::string> Line::take() {
  while (true) {
    if (std::optional<std::string> message = take_received()) return message;
    const size_t length = received_.size();
    const bool has_ended = !socket_.receive(received_);
    if (received_.size() > length) continue;
    if (has_ended) is_open_ = false;
    return std::nullopt;
  }
}

std::optional<std::string> Line::take_received() {
  if (received_.size() < kLengthBytes) return std::nullopt;
  MessageReader reader(received_);
  const auto length = static_cast<uint64_t>(reader.number());
  if (length > longest_)
    throw UnavailableError(
        fmt::format("a message of {} bytes, expected at most {}: the other side "
                    "is not crochet",
                    length, longest_));
  if (reader.rest().size() < length) return std::nullopt;
  std::string message(reader.rest().substr(0, length));
  received_.erase(0, kLengthBytes + length);
  return message;
}

}  // namespace crochet::inline v0::internal
