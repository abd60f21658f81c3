// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/group/join.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "crochet/base/error.h"
#include "tests/support/joined_ranks.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <int kSize>
class SocketRanks final : public JoinedRanks<kSize> {
 public:
  SocketRanks()
      : JoinedRanks<kSize>(
            [](const GroupEnvironment& environment, const JoinGroupOptions& options) {
              return join_group(environment, options);
            }) {}
};

using AllSocketRanks = testing::Types<SocketRanks<1>, SocketRanks<2>, SocketRanks<4>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Sockets, GroupContract, AllSocketRanks);

std::string at(uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

GroupEnvironment of_job(const std::string& job, int rank, uint16_t port) {
  GroupEnvironment environment = environment_of(rank, 2, port);
  environment.job = job;
  return environment;
}

// A rank 0 that waits for its rank 1, which comes at the end.
class WaitingJob {
 public:
  explicit WaitingJob(GroupEnvironment chief) : chief_(std::move(chief)) {}
  ~WaitingJob() {
    GroupEnvironment last = chief_;
    last.rank = 1;
    std::thread other([&] { join_group(last)->barrier(); });
    EXPECT_NO_THROW(group_->barrier());
    group_.reset();
    other.join();
  }
  WaitingJob(const WaitingJob&) = delete;
  WaitingJob& operator=(const WaitingJob&) = delete;

 private:
  const GroupEnvironment chief_;
  std::shared_ptr<Group> group_ = join_group(chief_);
};

TEST(JoinGroupTest, AProcessAloneNeedsNoPort) {
  const std::shared_ptr<Group> group = join_group(GroupEnvironment());
  EXPECT_EQ(group->size(), 1);
  group->barrier();
}

TEST(JoinGroupTest, NamesTheVariableThatIsMissing) {
  GroupEnvironment environment = environment_of(0, 2, 1);
  environment.master_port = {};
  EXPECT_THAT([&] { join_group(environment); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("MASTER_PORT")));
}

TEST(JoinGroupTest, NamesTheAddressThatIsOutOfReach) {
  const uint16_t port = free_port();
  EXPECT_THAT([&] { join_group(environment_of(1, 2, port), {.connect_timeout_secs = 0.5}); },
              ThrowsMessage<UnavailableError>(
                  AllOf(HasSubstr("rank 1 of 2: cannot reach rank 0 at " + at(port)),
                        HasSubstr("0.5 s"), HasSubstr("refused"))));
}

TEST(JoinGroupTest, NamesAHostThatIsUnknown) {
  GroupEnvironment environment = environment_of(1, 2, 1);
  environment.master_addr = "no-such-host.invalid";
  EXPECT_THAT([&] { join_group(environment, {.connect_timeout_secs = 0.2}); },
              ThrowsMessage<UnavailableError>(HasSubstr("no-such-host.invalid")));
}

TEST(JoinGroupTest, TwoJobsThatStartOnOnePortLeaveEachOtherAlone) {
  const uint16_t port = free_port();
  const WaitingJob first(of_job("first", 0, port));
  for (const int rank : {0, 1})
    EXPECT_THAT([&] { join_group(of_job("second", rank, port)); },
                ThrowsMessage<AlreadyExistsError>(
                    AllOf(HasSubstr("rank " + std::to_string(rank) + " of 2"), HasSubstr(at(port)),
                          HasSubstr("job \"first\", generation 0, of 2 ranks"),
                          HasSubstr("pid " + std::to_string(::getpid())),
                          HasSubstr("a MASTER_PORT of its own"))));
}

// The advice of the error above.
TEST(JoinGroupTest, TwoJobsRunSideBySideOnTheirOwnPorts) {
  const WaitingJob first(of_job("first", 0, free_port()));
  const WaitingJob second(of_job("second", 0, free_port()));
}

TEST(JoinGroupTest, RefusesASecondProcessAsTheSameRank) {
  const uint16_t port = free_port();
  std::thread chief([&] { join_group(environment_of(0, 2, port))->barrier(); });
  std::shared_ptr<Group> group = join_group(environment_of(1, 2, port));
  EXPECT_THAT([&] { join_group(environment_of(1, 2, port)); },
              ThrowsMessage<AlreadyExistsError>(
                  AllOf(HasSubstr("rank 1 of 2"), HasSubstr("already joined"))));
  EXPECT_THROW(join_group(environment_of(0, 2, port)), AlreadyExistsError);
  group->barrier();
  group.reset();  // The chief waits for this.
  chief.join();
}

TEST(JoinGroupTest, NamesAPortOfAnotherProgram) {
  const internal::Socket other = *internal::listen_on(0);
  EXPECT_THAT([&] { join_group(environment_of(0, 2, internal::port_of(other))); },
              ThrowsMessage<UnavailableError>(AllOf(HasSubstr(at(internal::port_of(other))),
                                                    HasSubstr("another program"),
                                                    HasSubstr("MASTER_PORT"))));
}

TEST(JoinGroupTest, RefusesAGroupOfAnotherSize) {
  const uint16_t port = free_port();
  const WaitingJob job(environment_of(0, 2, port));
  EXPECT_THAT(
      [&] { join_group(environment_of(1, 3, port)); },
      ThrowsMessage<FailedPreconditionError>(HasSubstr("has a group of 2 ranks, expected 3")));
}

// The processes of a job that is started again may meet those that are about to end.
TEST(JoinGroupTest, WaitsForTheEndOfAnOlderGeneration) {
  const uint16_t port = free_port();
  auto old = std::make_unique<WaitingJob>(environment_of(0, 2, port));
  GroupEnvironment next = environment_of(0, 2, port);
  next.restart_count = 1;
  std::thread chief([&] { EXPECT_EQ(join_group(next)->all_max(0), 1); });
  std::thread other([&] {
    GroupEnvironment last = next;
    last.rank = 1;
    EXPECT_EQ(join_group(last)->all_max(1), 1);
  });
  old.reset();
  chief.join();
  other.join();
}

TEST(JoinGroupTest, StrangersDoNotDisturb) {
  const uint16_t port = free_port();
  const WaitingJob job(environment_of(0, 2, port));
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100'000, '\xff'), std::string(64, '\0'),
        std::string("\x04\0\0\0\0\0\0\0abcd", 12), std::string()}) {
    WaitLimit limit(Clock::real(), 30);
    const internal::Socket stranger =
        internal::connect_to({.host = "127.0.0.1", .port = port}, limit);
    stranger.send(bytes);
  }
}

TEST(JoinGroupTest, ReportsTheReasonOfAnErrorToRanksThatComeLate) {
  const uint16_t port = free_port();
  std::thread chief([&] {
    try {
      const auto group = join_group(environment_of(0, 2, port));
      throw std::runtime_error("no memory");
    } catch (const std::runtime_error&) {
    }
  });
  auto group = join_group(environment_of(1, 2, port), {.timeout_secs = 60});
  EXPECT_THAT([&] { group->barrier(); }, ThrowsMessage<RankFailedError>(HasSubstr("rank 0 of 2")));
  group.reset();  // The chief waits for this.
  chief.join();
}

}  // namespace
}  // namespace crochet
