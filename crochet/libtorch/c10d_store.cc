// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/c10d_store.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "crochet/base/error.h"
#include "crochet/libtorch/error_message.h"

namespace crochet::inline v0::libtorch {
namespace {

// Each value has one of these in front of it, so that it differs from kAbsent.
constexpr uint8_t kPresent = '=';
constexpr uint8_t kInPieces = '+';  // What follows is the number of pieces.
const std::vector<uint8_t> kAbsent = {'-'};

// The server of LibTorch 2 ends a connection that sends it more than 8 MiB at once.
constexpr size_t kPieceBytes = size_t{4} << 20;

// How often get() asks: soon at first, as ranks are rarely far apart.
constexpr std::chrono::microseconds kFirstPause(50);
constexpr std::chrono::milliseconds kLongestPause(10);

std::string piece_key(const std::string& key, size_t piece) {
  return fmt::format("{}#{}", key, piece);
}

std::chrono::milliseconds milliseconds(double secs) {
  // LibTorch takes 0 for "no limit".
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(from_seconds(secs)),
                  std::chrono::milliseconds(1));
}

// Calls `operation`, with crochet's errors.
template <typename Operation>
auto translated(const std::string& where, const Operation& operation) {
  try {
    return operation();
  } catch (const std::exception& error) {
    throw UnavailableError(fmt::format("{}: {}", where, first_line(error)));
  }
}

}  // namespace

c10::intrusive_ptr<c10d::Store> open_tcp_store(const TcpStoreOptions& options) {
  const std::string where =
      fmt::format("{}: {} a store at {}:{}", options.who,
                  options.is_server ? "cannot serve" : "cannot reach", options.host, options.port);
  return translated(where, [&]() -> c10::intrusive_ptr<c10d::Store> {
    c10d::TCPStoreOptions tcp;
    tcp.port = options.port;
    tcp.isServer = options.is_server;
    tcp.waitWorkers = false;
    tcp.timeout = milliseconds(options.timeout_secs);
    auto store = c10::make_intrusive<c10d::TCPStore>(options.host, tcp);
    // In LibTorch 1.13, this is what limits the time that later operations wait for a server that
    // does not respond.
    store->set("crochet/open", std::vector<uint8_t>{kPresent});
    store->wait({"crochet/open"}, tcp.timeout);
    return store;
  });
}

uint16_t port_of(const c10d::Store& store) {
  return static_cast<const c10d::TCPStore&>(store).getPort();
}

C10dStore::C10dStore(c10::intrusive_ptr<c10d::Store> store, std::string where)
    : store_(std::move(store)), where_(std::move(where)) {}

C10dStore::~C10dStore() = default;

void C10dStore::set(const std::string& key, std::string_view value) {
  if (value.size() <= kPieceBytes) return set_one(key, kPresent, value);
  size_t num_pieces = 0;
  for (; num_pieces * kPieceBytes < value.size(); ++num_pieces)
    set_one(piece_key(key, num_pieces), kPresent,
            value.substr(num_pieces * kPieceBytes, kPieceBytes));
  // Once it is there, all pieces are.
  set_one(key, kInPieces, std::to_string(num_pieces));
}

void C10dStore::set_one(const std::string& key, uint8_t mark, std::string_view value) {
  std::vector<uint8_t> bytes(value.size() + 1, mark);
  std::copy(value.begin(), value.end(), bytes.begin() + 1);
  translated(where_, [&] { store_->set(key, bytes); });
}

std::optional<std::string> C10dStore::get(const std::string& key, Clock::Duration timeout) {
  Clock& clock = Clock::real();
  const Clock::TimePoint deadline = clock.now() + timeout;
  Clock::Duration pause = kFirstPause;
  while (true) {
    if (std::optional<std::string> value = get(key)) return value;
    const Clock::Duration rest = deadline - clock.now();
    if (rest <= Clock::Duration::zero()) return std::nullopt;
    clock.sleep_for(std::min(pause, rest));
    pause = std::min<Clock::Duration>(pause * 3 / 2, kLongestPause);
  }
}

std::optional<std::string> C10dStore::get(const std::string& key) {
  std::optional<Stored> stored = get_one(key);
  if (!stored) return std::nullopt;
  if (stored->num_pieces == 0) return std::move(stored->value);
  std::string value;
  for (size_t i = 0; i < stored->num_pieces; ++i) {
    const std::optional<Stored> piece = get_one(piece_key(key, i));
    if (!piece) return std::nullopt;  // It was removed meanwhile.
    value += piece->value;
  }
  return value;
}

std::optional<C10dStore::Stored> C10dStore::get_one(const std::string& key) {
  // Unlike Store::get, this does not wait. It returns kAbsent if there is no such key, and never
  // changes anything, because no value is kAbsent.
  const std::vector<uint8_t> bytes =
      translated(where_, [&] { return store_->compareSet(key, kAbsent, kAbsent); });
  if (bytes == kAbsent) return std::nullopt;
  if (!bytes.empty() && bytes.front() == kPresent)
    return Stored{.value = std::string(bytes.begin() + 1, bytes.end())};
  Stored stored;
  if (!bytes.empty() && bytes.front() == kInPieces) {
    const char* const begin = reinterpret_cast<const char*>(bytes.data()) + 1;
    const char* const end = begin + (bytes.size() - 1);
    if (const auto [rest, error] = std::from_chars(begin, end, stored.num_pieces);
        error == std::errc() && rest == end && stored.num_pieces > 0)
      return stored;
  }
  throw UnavailableError(fmt::format(
      "{}: the value of \"{}\" is not crochet's: another program uses the same keys", where_, key));
}

int64_t C10dStore::add(const std::string& key, int64_t amount) {
  return translated(where_, [&] { return store_->add(key, amount); });
}

void C10dStore::remove(const std::string& key) {
  const std::optional<Stored> stored = get_one(key);
  translated(where_, [&] {
    store_->deleteKey(key);
    for (size_t i = 0; stored && i < stored->num_pieces; ++i) store_->deleteKey(piece_key(key, i));
  });
}

}  // namespace crochet::inline v0::libtorch
