// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a group whose ranks, or the network between them, fail.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/group/join.h"
#include "crochet/testing/log_capture.h"
#include "tests/support/faulty_network.h"
#include "tests/support/forked_child.h"
#include "tests/support/joined_ranks.h"
#include "tests/support/wait_until.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

double secs_of(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Above what a call takes by itself, and far below the limits that it must not wait for.
constexpr double kBusyMachineSecs = 60;

// Numbers that a test shares with its children.
struct Shared {
  std::atomic<int> num_steps[4] = {};
  std::atomic<bool> is_over = false;
};

// Sleeps are real where the kernel stops another process: that one cannot have a fake clock.
class LostRanksTest : public testing::Test {
 protected:
  LostRanksTest() {
    void* const memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared_ = new (memory) Shared;
  }
  ~LostRanksTest() override { ::munmap(shared_, sizeof(Shared)); }

  // A child that is a rank.
  pid_t start(int rank, int size, const std::function<int(Group&)>& body,
              double timeout_secs = 600) const {
    return fork_child([&] {
      const std::shared_ptr<Group> group =
          join_group(environment_of(rank, size, port_), {.timeout_secs = timeout_secs});
      return body(*group);
    });
  }
  std::shared_ptr<Group> join(int rank, int size, double timeout_secs = 600) const {
    return join_group(environment_of(rank, size, port_), {.timeout_secs = timeout_secs});
  }
  void wait_for_steps(int rank, int num) const {
    wait_until("steps of a rank", [&] { return shared_->num_steps[rank] >= num; });
  }

  const uint16_t port_ = free_port();
  Shared* shared_;
};

// Makes calls until the parent says that it is enough.
int make_steps(Group& group, Shared& shared) {
  while (group.all_max(shared.is_over ? 1 : 0) == 0) {
    ++shared.num_steps[group.rank()];
    ::usleep(1000);
  }
  return 0;
}

constexpr int kNoticed = 7;

// Returns kNoticed if the call throws a RankFailedError of `rank` long before the limit.
int expect_lost(Group& group, int rank) {
  int code = 0;
  const double secs = secs_of([&] {
    try {
      group.barrier();
    } catch (const RankFailedError& error) {
      code = error.rank() == rank ? kNoticed : 1;
      std::fprintf(stderr, "%s\n", error.what());
    }
  });
  return secs < kBusyMachineSecs ? code : 2;
}

// Rank 0 is in a step of its own all the while.
TEST_F(LostRanksTest, AKilledRankIsNoticedWhileOthersComputeAndWait) {
  const pid_t waiting = start(1, 3, [](Group& group) {
    group.barrier();
    return expect_lost(group, 2);
  });
  const pid_t killed = start(2, 3, [this](Group& group) {
    group.barrier();
    ++shared_->num_steps[2];
    return ::pause();
  });
  const LogCapture log;
  const std::shared_ptr<Group> group = join(0, 3);
  group->barrier();
  wait_for_steps(2, 1);
  ::kill(killed, SIGKILL);
  EXPECT_EQ(wait_for_child(killed), -SIGKILL);
  EXPECT_EQ(wait_for_child(waiting), kNoticed);
  EXPECT_THROW(group->throw_if_lost(), RankFailedError);
  EXPECT_THAT(secs_of([&] {
                EXPECT_THAT([&] { group->barrier(); },
                            ThrowsMessage<RankFailedError>(
                                AllOf(HasSubstr("rank 2 of 3 (pid " + std::to_string(killed)),
                                      HasSubstr("is lost: its process has ended"))));
              }),
              testing::Lt(kBusyMachineSecs));
  // Other threads may learn of it before the line is in the log.
  wait_until("a line in the log", [&] { return log.contains("rank 2 of 3"); });
}

TEST_F(LostRanksTest, AKilledChiefIsNoticed) {
  const pid_t chief = start(0, 2, [this](Group& group) {
    group.barrier();
    ++shared_->num_steps[0];
    return ::pause();
  });
  const std::shared_ptr<Group> group = join(1, 2);
  group->barrier();
  wait_for_steps(0, 1);
  ::kill(chief, SIGKILL);
  EXPECT_EQ(expect_lost(*group, 0), kNoticed);
  wait_for_child(chief);
}

TEST_F(LostRanksTest, AProcessThatExitsInsideItsStepIsNoticed) {
  const pid_t child = start(1, 2, [](Group& group) {
    group.barrier();
    std::_Exit(0);
    return 0;
  });
  const std::shared_ptr<Group> group = join(0, 2);
  group->barrier();
  EXPECT_EQ(expect_lost(*group, 1), kNoticed);
  wait_for_child(child);
}

// A helper of the killed rank has a copy of all that its parent had open.
TEST_F(LostRanksTest, AKilledRankIsNoticedAlthoughItsForkedHelperLives) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t killed = start(1, 2, [&](Group& group) {
    group.barrier();
    fork_child([&] {  // The helper ends with this test.
      ::close(pipe_ends[1]);
      char byte = 0;
      return static_cast<int>(::read(pipe_ends[0], &byte, 1));
    });
    ++shared_->num_steps[1];
    return ::pause();
  });
  const std::shared_ptr<Group> group = join(0, 2);
  group->barrier();
  wait_for_steps(1, 1);
  ::kill(killed, SIGKILL);
  EXPECT_EQ(expect_lost(*group, 1), kNoticed);
  wait_for_child(killed);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

// A forked child destroys its copy of the group when it returns from main().
TEST_F(LostRanksTest, AForkedChildCanDestroyItsCopyOfTheGroup) {
  std::thread other([&] {
    const std::shared_ptr<Group> group = join(1, 2);
    group->barrier();
    group->barrier();
  });
  std::shared_ptr<Group> group = join(0, 2);
  group->barrier();
  EXPECT_EQ(run_in_child([&] {
              EXPECT_THROW(group->barrier(), FailedPreconditionError);
              group->leave("no rank");
              group.reset();
              return testing::Test::HasFailure() ? 1 : 0;
            }),
            0);
  group->barrier();
  group.reset();
  other.join();
}

// Longer than the limit, and one of them wakes later than the other.
TEST_F(LostRanksTest, ASuspendedJobResumesWhenItIsContinued) {
  constexpr double kTimeoutSecs = 2;
  std::vector<pid_t> ranks;
  for (const int rank : {0, 1})
    ranks.push_back(start(
        rank, 2, [this](Group& group) { return make_steps(group, *shared_); }, kTimeoutSecs));
  for (const int later : {0, 1}) {
    wait_for_steps(later, shared_->num_steps[later] + 5);
    for (const pid_t rank : ranks) ::kill(rank, SIGSTOP);
    Clock::real().sleep_for(from_seconds(kTimeoutSecs + 0.5));
    ::kill(ranks[static_cast<size_t>(1 - later)], SIGCONT);
    Clock::real().sleep_for(std::chrono::milliseconds(300));
    ::kill(ranks[static_cast<size_t>(later)], SIGCONT);
  }
  shared_->is_over = true;
  for (const pid_t rank : ranks) EXPECT_EQ(wait_for_child(rank), 0);
}

// No heartbeat takes a rank that is suspended, or busy, for lost.
TEST_F(LostRanksTest, ASuspendedRankIsWaitedFor) {
  const pid_t other = start(1, 2, [this](Group& group) { return make_steps(group, *shared_); });
  const pid_t chief = start(0, 2, [this](Group& group) { return make_steps(group, *shared_); });
  wait_for_steps(0, 5);
  ::kill(other, SIGSTOP);
  // Longer than a dead rank would stay unnoticed.
  Clock::real().sleep_for(std::chrono::milliseconds(5500));
  ::kill(other, SIGCONT);
  wait_for_steps(1, shared_->num_steps[1] + 5);
  shared_->is_over = true;
  EXPECT_EQ(wait_for_child(other), 0);
  EXPECT_EQ(wait_for_child(chief), 0);
}

TEST_F(LostRanksTest, ASilentRankIsNamedWithinTheLimit) {
  constexpr double kTimeoutSecs = 1.5;
  const pid_t silent = start(1, 3, [this](Group& group) {
    group.barrier();
    ++shared_->num_steps[1];
    return ::pause();
  });
  const auto expect_error = [&](Group& group) {
    EXPECT_THAT(secs_of([&] {
                  EXPECT_THAT(
                      [&] { group.barrier(kTimeoutSecs); },
                      ThrowsMessage<DeadlineExceededError>(HasSubstr("for rank 1 of 3 in call 2")));
                }),
                testing::Lt(kTimeoutSecs + kBusyMachineSecs));
  };
  std::thread other([&] {
    const std::shared_ptr<Group> group = join(2, 3);
    group->barrier();
    expect_error(*group);
  });
  const std::shared_ptr<Group> group = join(0, 3);
  group->barrier();
  wait_for_steps(1, 1);
  // Rank 2 asks before rank 0 does, and still learns whom rank 0 waits for.
  Clock::real().sleep_for(std::chrono::milliseconds(700));
  expect_error(*group);
  other.join();
  ::kill(silent, SIGKILL);
  wait_for_child(silent);
}

// Rank 1 reaches rank 0 through a network that fails.
class FaultyNetworkTest : public testing::Test {
 protected:
  static constexpr double kTimeoutSecs = 1.5;

  void run(const std::function<void(Group&)>& chief, const std::function<void(Group&)>& other) {
    std::thread thread([&] { other(*join(1, network_.port())); });
    chief(*join(0, port_));
    thread.join();
  }
  static std::shared_ptr<Group> join(int rank, uint16_t port) {
    return join_group(environment_of(rank, 2, port), {.timeout_secs = kTimeoutSecs});
  }
  // In rank 1: makes a call, after which the network is broken.
  void meet(Group& group) {
    group.barrier();
    set(has_met_);
    is_broken_.wait(false);
  }
  void break_network(const std::function<void()>& action) {
    has_met_.wait(false);
    action();
    set(is_broken_);
  }
  static void set(std::atomic<bool>& flag) {
    flag = true;
    flag.notify_all();
  }
  // Of the error in a call.
  static std::string expect_error(Group& group) {
    std::string message;
    const double secs = secs_of([&] {
      try {
        group.barrier();
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        message = error.what();
      }
    });
    EXPECT_LT(secs, kTimeoutSecs + kBusyMachineSecs);
    return message;
  }

  const uint16_t port_ = free_port();
  FaultyNetwork network_{port_};
  std::atomic<bool> has_met_ = false;
  std::atomic<bool> is_broken_ = false;
};

TEST_F(FaultyNetworkTest, ASlowNetworkIsWaitedFor) {
  network_.delay(std::chrono::milliseconds(20));
  const auto body = [](Group& group) {
    for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(group.all_max(group.rank() + i), i + 1);
  };
  run(body, body);
}

TEST_F(FaultyNetworkTest, ASilentPeerIsNamedWithinTheLimit) {
  run(
      [&](Group& group) {
        group.barrier();
        break_network([this] { network_.stall(); });
        EXPECT_THAT(expect_error(group),
                    HasSubstr("rank 0 waited 1.5 s for rank 1 of 2 in call 2"));
      },
      [&](Group& group) {
        meet(group);
        EXPECT_THAT(expect_error(group),
                    HasSubstr("rank 1 waited 1.5 s for rank 0 of 2 in call 2 (rank 0 is at "
                              "127.0.0.1:" +
                              std::to_string(network_.port())));
      });
}

TEST_F(FaultyNetworkTest, ALineThatEndsIsNoticedAtOnce) {
  run(
      [&](Group& group) {
        group.barrier();
        break_network([this] { network_.drop(); });
        EXPECT_THAT(expect_error(group), AllOf(HasSubstr("rank 1 of 2"), Not(HasSubstr("waited"))));
      },
      [&](Group& group) {
        meet(group);
        EXPECT_THAT(expect_error(group), AllOf(HasSubstr("rank 0 of 2"), Not(HasSubstr("waited"))));
      });
}

TEST_F(FaultyNetworkTest, JoiningEndsWithinItsLimit) {
  network_.stall();
  EXPECT_THAT(
      secs_of([&] {
        EXPECT_THAT(
            [&] {
              join_group(environment_of(1, 2, network_.port()), {.connect_timeout_secs = 0.5});
            },
            ThrowsMessage<UnavailableError>(
                HasSubstr("cannot reach rank 0 at 127.0.0.1:" + std::to_string(network_.port()))));
      }),
      testing::Lt(kBusyMachineSecs));
}

}  // namespace
}  // namespace crochet
