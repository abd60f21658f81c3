// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/join.h"

#include <barrier>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "crochet/base/error.h"
#include "crochet/libtorch/c10d_store.h"
#include "crochet/testing/group_contract.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

// A port that was free a moment ago.
int free_port() {
  return libtorch::port_of(
      *libtorch::open_tcp_store({.host = "127.0.0.1", .is_server = true, .who = "test"}));
}

GroupEnvironment environment_of(int rank, int size, int port) {
  return {.rank = rank,
          .size = size,
          .launcher = "torchrun",
          .master_addr = "127.0.0.1",
          .master_port = port,
          .job = "test"};
}

template <int kSize>
class JoinedRanks final : public GroupContractRanks {
 public:
  int size() const override { return kSize; }
  void run(const std::function<void(Group&)>& body) override {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kSize; ++rank)
      threads.emplace_back([&, rank] {
        const auto group = libtorch::join(environment_of(rank, kSize, port_),
                                          {.timeout_secs = 60, .connect_timeout_secs = 30});
        body(*group);
      });
    for (std::thread& thread : threads) thread.join();
    port_ = free_port();
  }
  void meet() override { all_.arrive_and_wait(); }

 private:
  int port_ = free_port();
  std::barrier<> all_{kSize};
};

using AllJoinedRanks = testing::Types<JoinedRanks<1>, JoinedRanks<2>, JoinedRanks<4>>;
INSTANTIATE_TYPED_TEST_SUITE_P(LibTorch, GroupContract, AllJoinedRanks);

// A store that outlives its jobs, as torchrun's does.
class AgentStoreTest : public testing::Test {
 protected:
  std::shared_ptr<Group> join(int rank, int64_t restart_count,
                              const libtorch::JoinOptions& options = {}) const {
    GroupEnvironment environment = environment_of(rank, 2, libtorch::port_of(*agent_));
    environment.uses_agent_store = true;
    environment.restart_count = restart_count;
    return libtorch::join(environment, options);
  }

  const c10::intrusive_ptr<c10d::Store> agent_ =
      libtorch::open_tcp_store({.host = "127.0.0.1", .is_server = true, .who = "agent"});
};

TEST_F(AgentStoreTest, ServesEveryRestart) {
  for (const int64_t restart : {0, 1, 2}) {
    std::thread other([&] { EXPECT_EQ(join(1, restart)->all_max(1), 1); });
    EXPECT_EQ(join(0, restart)->all_max(0), 1);
    other.join();
  }
}

TEST_F(AgentStoreTest, RefusesTheSameRankOfTheSameStart) {
  const std::shared_ptr<Group> first = join(1, 3);
  EXPECT_THAT([&] { join(1, 3); }, ThrowsMessage<AlreadyExistsError>(
                                       AllOf(HasSubstr("rank 1 of 2"), HasSubstr("generation 3"))));
  EXPECT_EQ(join(1, 3, {.generation = 4})->generation(), 4);
}

TEST_F(AgentStoreTest, RefusesAValueThatIsNotCrochets) {
  agent_->set("name", std::vector<uint8_t>{'x'});
  libtorch::C10dStore store(agent_, "the store of the test");
  EXPECT_THAT([&] { store.get("name", Clock::Duration::zero()); },
              ThrowsMessage<UnavailableError>(
                  AllOf(HasSubstr("the store of the test"), HasSubstr("\"name\""))));
}

// The server of LibTorch 2 ends a connection that sends it more than 8 MiB at once.
TEST_F(AgentStoreTest, KeepsLongValues) {
  libtorch::C10dStore store(agent_, "the store of the test");
  for (const size_t length : {size_t{4} << 20, (size_t{4} << 20) + 1, size_t{20} << 20}) {
    std::string value(length, '\0');
    for (size_t i = 0; i < length; ++i) value[i] = static_cast<char>(i >> 12);
    store.set("name", value);
    EXPECT_TRUE(store.get("name", Clock::Duration::zero()) == value) << length;
    store.remove("name");
    EXPECT_EQ(store.get("name", Clock::Duration::zero()), std::nullopt);
  }
  agent_->set("name", std::vector<uint8_t>{'+', '0'});
  EXPECT_THROW(store.get("name", Clock::Duration::zero()), UnavailableError);
}

TEST(JoinTest, AProcessAloneNeedsNoStore) {
  const std::shared_ptr<Group> group = libtorch::join(GroupEnvironment());
  EXPECT_EQ(group->size(), 1);
  group->barrier();
}

TEST(JoinTest, NamesTheAddressThatIsOutOfReach) {
  const int port = free_port();
  EXPECT_THAT([&] { libtorch::join(environment_of(1, 2, port), {.connect_timeout_secs = 0.2}); },
              ThrowsMessage<UnavailableError>(
                  AllOf(HasSubstr("rank 1 of 2"), HasSubstr("127.0.0.1:" + std::to_string(port)))));
}

TEST(JoinTest, NamesAPortThatIsInUse) {
  const auto store =
      libtorch::open_tcp_store({.host = "127.0.0.1", .is_server = true, .who = "test"});
  EXPECT_THAT(
      [&] { libtorch::join(environment_of(0, 2, libtorch::port_of(*store))); },
      ThrowsMessage<UnavailableError>(AllOf(HasSubstr("rank 0 of 2"), HasSubstr("cannot serve"))));
}

TEST(JoinTest, NamesTheVariableThatIsMissing) {
  GroupEnvironment environment = environment_of(0, 2, 1);
  environment.master_port = {};
  EXPECT_THAT([&] { libtorch::join(environment); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("MASTER_PORT")));
}

// The store is gone with rank 0, but its reason has arrived.
TEST(JoinTest, ServesTheReasonOfAnError) {
  const int port = free_port();
  std::thread chief([&] {
    try {
      const auto group = libtorch::join(environment_of(0, 2, port));
      throw std::runtime_error("no memory");
    } catch (const std::runtime_error&) {
    }
  });
  auto group = libtorch::join(environment_of(1, 2, port), {.timeout_secs = 60});
  EXPECT_THAT([&] { group->barrier(); }, ThrowsMessage<RankFailedError>(HasSubstr("rank 0 of 2")));
  group.reset();  // The chief waits for this.
  chief.join();
}

}  // namespace
}  // namespace crochet
