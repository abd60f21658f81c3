// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/join.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "crochet/base/error.h"
#include "crochet/libtorch/internal/c10d_store.h"
#include "tests/support/faulty_network.h"
#include "tests/support/joined_ranks.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <int kSize>
class TorchRanks final : public JoinedRanks<kSize> {
 public:
  TorchRanks()
      : JoinedRanks<kSize>(
            [](const GroupEnvironment& environment, const JoinGroupOptions& options) {
              return libtorch::join(environment, options);
            }) {}
};

// Ranks of torchrun, which serves a store.
template <int kSize>
class AgentRanks final : public JoinedRanks<kSize> {
 public:
  AgentRanks()
      : JoinedRanks<kSize>([this](GroupEnvironment environment, const JoinGroupOptions& options) {
          environment.uses_agent_store = true;
          environment.restart_count = environment.master_port.value_or(0);  // Of each run.
          environment.master_port = libtorch::internal::port_of(*agent_);
          return libtorch::join(environment, options);
        }) {}

 private:
  const c10::intrusive_ptr<c10d::Store> agent_ =
      libtorch::internal::open_tcp_store({.host = "127.0.0.1", .is_server = true, .who = "agent"});
};

using AllTorchRanks = testing::Types<TorchRanks<1>, TorchRanks<2>, AgentRanks<2>, AgentRanks<4>>;
INSTANTIATE_TYPED_TEST_SUITE_P(LibTorch, GroupContract, AllTorchRanks);

// A store that outlives its jobs, as torchrun's does.
class AgentStoreTest : public testing::Test {
 protected:
  std::shared_ptr<Group> join(int rank, int64_t restart_count,
                              const JoinGroupOptions& options = {}) const {
    GroupEnvironment environment = environment_of(rank, 2, libtorch::internal::port_of(*agent_));
    environment.uses_agent_store = true;
    environment.restart_count = restart_count;
    return libtorch::join(environment, options);
  }

  const c10::intrusive_ptr<c10d::Store> agent_ =
      libtorch::internal::open_tcp_store({.host = "127.0.0.1", .is_server = true, .who = "agent"});
};

TEST_F(AgentStoreTest, ServesEveryRestart) {
  for (const int64_t restart : {0, 1, 2}) {
    std::thread other([&] { EXPECT_EQ(join(1, restart)->all_max(1), 1); });
    EXPECT_EQ(join(0, restart)->all_max(0), 1);
    other.join();
  }
}

TEST_F(AgentStoreTest, RefusesTheSameRankOfTheSameStart) {
  const std::shared_ptr<Group> chief = join(0, 3);
  const std::shared_ptr<Group> first = join(1, 3);
  EXPECT_THAT([&] { join(1, 3); }, ThrowsMessage<AlreadyExistsError>(
                                       AllOf(HasSubstr("rank 1 of 2"), HasSubstr("generation 3"))));
  EXPECT_EQ(join(0, 3, {.timeout_secs = 0.1, .generation = 4})->generation(), 4);
}

TEST_F(AgentStoreTest, RefusesAValueThatIsNotCrochets) {
  agent_->set("name", std::vector<uint8_t>{'x'});
  libtorch::internal::C10dStore store(agent_, "the store of the test", 30);
  EXPECT_THAT([&] { store.get("name", Clock::Duration::zero()); },
              ThrowsMessage<UnavailableError>(
                  AllOf(HasSubstr("the store of the test"), HasSubstr("\"name\""))));
}

// The network between a rank and torchrun's store fails.
class FaultyAgentTest : public AgentStoreTest {
 protected:
  static constexpr double kLimitSecs = 0.5;

  // Expects an error that names the store's address, within the limit.
  void expect_error(const std::function<void()>& call) const {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THAT(call, ThrowsMessage<UnavailableError>(
                          AllOf(HasSubstr("rank 1 of 2"),
                                HasSubstr("127.0.0.1:" + std::to_string(network_.port())))));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(1));
  }
  std::shared_ptr<Group> join_by_network() const {
    GroupEnvironment environment = environment_of(1, 2, network_.port());
    environment.uses_agent_store = true;
    return libtorch::join(environment, {.connect_timeout_secs = kLimitSecs});
  }

  FaultyNetwork network_{libtorch::internal::port_of(*agent_)};
};

TEST_F(FaultyAgentTest, ASilentStoreIsNamedWithinTheLimit) {
  network_.stall();
  expect_error([&] { join_by_network(); });
}

TEST_F(FaultyAgentTest, AStoreThatFallsSilentIsNamedWithinTheLimit) {
  const std::string where =
      "rank 1 of 2: the store at 127.0.0.1:" + std::to_string(network_.port());
  libtorch::internal::C10dStore store(
      libtorch::internal::open_tcp_store(
          {.host = "127.0.0.1", .port = network_.port(), .timeout_secs = 30, .who = "rank 1 of 2"}),
      where, kLimitSecs);
  store.set("name", "value");
  network_.stall();
  expect_error([&] { store.get("name", Clock::Duration::zero()); });
  expect_error([&] { store.add("number", 1); });
}

TEST_F(FaultyAgentTest, AChiefThatDoesNotComeIsNamedWithinTheLimit) {
  EXPECT_THAT([&] { join_by_network(); },
              ThrowsMessage<UnavailableError>(HasSubstr("rank 0 has not joined within 0.5 s")));
}

}  // namespace
}  // namespace crochet
