// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/c10d_store.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "crochet/base/error.h"
#include "crochet/group/internal/limited_call.h"
#include "crochet/libtorch/internal/error_message.h"

namespace crochet::inline v0::libtorch::internal {
namespace {

// Each value has this in front of it, so that it differs from kAbsent.
constexpr uint8_t kPresent = '=';
const std::vector<uint8_t> kAbsent = {'-'};

// How often get() asks: soon at first, as ranks are rarely far apart.
constexpr std::chrono::microseconds kFirstPause(50);
constexpr std::chrono::milliseconds kLongestPause(10);

std::chrono::milliseconds milliseconds(double secs) {
  // LibTorch takes 0 for "no limit".
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(from_seconds(secs)),
                  std::chrono::milliseconds(1));
}

// Calls `operation`, with crochet's errors.
template <typename Operation>
auto translated(const std::string& where, double secs, Operation operation) {
  try {
    WaitLimit limit(Clock::real(), secs);
    return crochet::internal::call_within(limit, "the store of LibTorch", std::move(operation));
  } catch (const std::exception& error) {
    throw UnavailableError(fmt::format("{}: {}", where, first_line(error)));
  }
}

}  // namespace

c10::intrusive_ptr<c10d::Store> open_tcp_store(const TcpStoreOptions& options) {
  const std::string where =
      fmt::format("{}: {} a store at {}:{}", options.who,
                  options.is_server ? "cannot serve" : "cannot reach", options.host, options.port);
  return translated(where, options.timeout_secs, [options]() -> c10::intrusive_ptr<c10d::Store> {
    c10d::TCPStoreOptions tcp;
    tcp.port = options.port;
    tcp.isServer = options.is_server;
    tcp.waitWorkers = false;
    // LibTorch 1.13 drops the parts of a second. The limit of the call counts.
    tcp.timeout = milliseconds(options.timeout_secs + 1);
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

C10dStore::C10dStore(c10::intrusive_ptr<c10d::Store> store, std::string where, double call_secs)
    : store_(std::move(store)), where_(std::move(where)), call_secs_(call_secs) {}

C10dStore::~C10dStore() = default;

template <typename Operation>
auto C10dStore::limited(Operation operation) {
  return translated(where_, call_secs_, [store = store_, operation = std::move(operation)] {
    return operation(*store);
  });
}

void C10dStore::set(const std::string& key, std::string_view value) {
  std::vector<uint8_t> bytes(value.size() + 1, kPresent);
  std::copy(value.begin(), value.end(), bytes.begin() + 1);
  limited([key, bytes](c10d::Store& store) {
    store.set(key, bytes);
    return true;
  });
}

std::optional<std::string> C10dStore::get(const std::string& key, Clock::Duration timeout) {
  if (timeout <= Clock::Duration::zero()) return get(key);
  WaitLimit limit(Clock::real(), to_seconds(timeout));
  Clock::Duration pause = kFirstPause;
  while (true) {
    if (std::optional<std::string> value = get(key)) return value;
    if (limit.is_over()) return std::nullopt;
    Clock::real().sleep_for(std::min(pause, limit.pause()));
    pause = std::min<Clock::Duration>(pause * 3 / 2, kLongestPause);
  }
}

std::optional<std::string> C10dStore::get(const std::string& key) {
  // Unlike Store::get, this does not wait. It returns kAbsent if there is no such key, and never
  // changes anything, because no value is kAbsent.
  const std::vector<uint8_t> bytes =
      limited([key](c10d::Store& store) { return store.compareSet(key, kAbsent, kAbsent); });
  if (bytes == kAbsent) return std::nullopt;
  if (!bytes.empty() && bytes.front() == kPresent)
    return std::string(bytes.begin() + 1, bytes.end());
  throw UnavailableError(fmt::format(
      "{}: the value of \"{}\" is not crochet's: another program uses the same keys", where_, key));
}

int64_t C10dStore::add(const std::string& key, int64_t amount) {
  return limited([key, amount](c10d::Store& store) { return store.add(key, amount); });
}

}  // namespace crochet::inline v0::libtorch::internal
