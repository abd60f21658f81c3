// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "crochet/group/internal/socket.h"
#include "crochet/group/join.h"
#include "crochet/testing/group_contract.h"

namespace crochet::inline v0 {

// A port that nobody listens on, and that no connection is given: those of connections begin at
// 32768, and one of them may be taken at any moment.
inline uint16_t free_port() {
  constexpr uint32_t kFirst = 10'000;
  constexpr uint32_t kNumber = 20'000;
  static std::atomic<uint32_t> next = static_cast<uint32_t>(::getpid()) * 101;
  for (;;) {
    const auto port = static_cast<uint16_t>(kFirst + next++ % kNumber);
    if (internal::listen_on(port)) return port;
  }
}

// As a script sets it for a rank of a job on this machine.
inline GroupEnvironment environment_of(int rank, int size, uint16_t port) {
  return {.rank = rank,
          .size = size,
          .launcher = "torchrun",
          .master_addr = "127.0.0.1",
          .master_port = port,
          .job = "test"};
}

// Ranks that are threads of a test, each of which joins as a process does.
template <int kSize>
class JoinedRanks : public GroupContractRanks {
 public:
  using Join = std::function<std::shared_ptr<Group>(const GroupEnvironment&,
                                                    const JoinGroupOptions& options)>;

  explicit JoinedRanks(Join join) : join_(std::move(join)) {}

  int size() const override { return kSize; }
  void run(const std::function<void(Group&)>& body) override {
    const uint16_t port = free_port();
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kSize; ++rank)
      threads.emplace_back([&, rank] {
        const auto group = join_(environment_of(rank, kSize, port),
                                 {.timeout_secs = 60, .connect_timeout_secs = 30});
        body(*group);
      });
    for (std::thread& thread : threads) thread.join();
  }
  void meet() override { all_.arrive_and_wait(); }

 private:
  const Join join_;
  std::barrier<> all_{kSize};
};

}  // namespace crochet::inline v0
