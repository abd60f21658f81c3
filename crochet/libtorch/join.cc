// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/join.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "crochet/base/error.h"
#include "crochet/group/store_group.h"
#include "crochet/libtorch/c10d_store.h"

namespace crochet::inline v0::libtorch {
namespace {

// How long rank 0 serves the store of a group that is lost: for others that learn why.
constexpr double kLostSecs = 5;
constexpr std::chrono::milliseconds kPause(5);

// Destroys a group. The rank that serves the store does so last.
class Farewell {
 public:
  Farewell(std::shared_ptr<KeyValueStore> store, std::string key, bool is_server)
      : store_(std::move(store)), key_(std::move(key)), is_server_(is_server) {}

  void operator()(Group* group) noexcept {
    const bool is_lost = group->is_lost() || std::uncaught_exceptions() > 0;
    const int size = group->size();
    const double timeout_secs = group->timeout_secs();
    delete group;
    try {
      if (is_server_)
        wait_for_others(size, is_lost ? std::min(kLostSecs, timeout_secs) : timeout_secs);
      else
        store_->add(key_, 1);
    } catch (const std::exception&) {
      // The store has ended before.
    }
    store_.reset();
  }

 private:
  void wait_for_others(int size, double secs) {
    Clock& clock = Clock::real();
    const Clock::TimePoint deadline = clock.now() + from_seconds(secs);
    while (store_->add(key_, 0) < size - 1 && clock.now() < deadline) clock.sleep_for(kPause);
  }

  std::shared_ptr<KeyValueStore> store_;
  std::string key_;
  bool is_server_;
};

}  // namespace

std::shared_ptr<Group> join(const JoinOptions& options) {
  return join(GroupEnvironment::from_environment(), options);
}

std::shared_ptr<Group> join(const GroupEnvironment& environment, const JoinOptions& options) {
  if (environment.size == 1) return std::make_shared<SingleGroup>();
  const std::string address = environment.master_address();
  const std::string who = fmt::format("rank {} of {}", environment.rank, environment.size);
  const bool is_server = environment.rank == 0 && !environment.uses_agent_store;
  const auto store = std::make_shared<C10dStore>(
      open_tcp_store({.host = environment.master_addr,
                      .port = static_cast<uint16_t>(environment.master_port.value_or(0)),
                      .is_server = is_server,
                      .timeout_secs = options.connect_timeout_secs,
                      .who = "libtorch::join: " + who}),
      fmt::format("{}: the store at {}", who, address));
  const std::string name = environment.job.empty() ? "job" : environment.job;
  const int64_t generation = options.generation.value_or(environment.restart_count);
  return {new StoreGroup(store, {.rank = environment.rank,
                                 .size = environment.size,
                                 .name = name,
                                 .generation = generation,
                                 .timeout_secs = options.timeout_secs}),
          Farewell(store, fmt::format("crochet/{}/{}/gone", name, generation), is_server)};
}

}  // namespace crochet::inline v0::libtorch
