// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Each process that mpirun starts runs all tests, as one rank.
#include "crochet/mpi/internal/mpi_group.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>

#include "crochet/mpi/join.h"
#include "crochet/testing/group_contract.h"

namespace crochet::mpi::internal {
namespace {

class MpiEnvironment final : public testing::Environment {
 public:
  void SetUp() override {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  }
  // The program may finalize MPI while there is a group.
  void TearDown() override {
    const std::shared_ptr<Group> group = join(0, nullptr);
    group->barrier();
    MPI_Finalize();
    EXPECT_THROW(join(0, nullptr), FailedPreconditionError);
  }
};

[[maybe_unused]] const testing::Environment* const kMpiEnvironment =
    testing::AddGlobalTestEnvironment(new MpiEnvironment);

class MpiRanks final : public GroupContractRanks {
 public:
  int size() const override {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
  }
  void run(const std::function<void(Group&)>& body) override {
    const std::shared_ptr<Group> group = join(0, nullptr);
    body(*group);
    meet();  // The next test's communicator needs all ranks.
  }
  void meet() override { MPI_Barrier(MPI_COMM_WORLD); }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Mpi, GroupContract, MpiRanks);

TEST(MpiGroupTest, LeavesMpiToTheProgramThatInitialisedIt) {
  join(0, nullptr);
  int finalized = 1;
  MPI_Finalized(&finalized);
  EXPECT_EQ(finalized, 0);
}

TEST(MpiGroupTest, SeveralGroupsDoNotMix) {
  const std::shared_ptr<Group> first = join(0, nullptr);
  const std::shared_ptr<Group> second = join(0, nullptr);
  for (int64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(first->all_max(i), i);
    EXPECT_EQ(second->all_max(-i), -i);
  }
}

// Each half of the ranks is a group of its own.
TEST(MpiGroupTest, TakesACommunicatorOfTheProgram) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm half = MPI_COMM_NULL;
  // In the opposite order.
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, size - rank, &half);
  {
    const std::shared_ptr<Group> group = join(0, nullptr, {.communicator = MPI_Comm_c2f(half)});
    EXPECT_EQ(group->size(), (size + 1 - rank % 2) / 2);
    int rank_of_half = 0;
    MPI_Comm_rank(half, &rank_of_half);
    EXPECT_EQ(group->rank(), rank_of_half);
    int largest = rank;  // Of this half.
    while (largest + 2 < size) largest += 2;
    EXPECT_EQ(group->all_max(rank), largest);
    EXPECT_EQ(group->broadcast(std::to_string(rank)), std::to_string(largest));
  }
  MPI_Comm_free(&half);
  EXPECT_THROW(join(0, nullptr, {.communicator = MPI_Comm_c2f(MPI_COMM_NULL)}),
               InvalidArgumentError);
}

// A rank that is slow is waited for by messages as well, which a later call must not take.
TEST(MpiGroupTest, MessagesOfASlowCallAreDropped) {
  const std::shared_ptr<Group> group = join(0, nullptr, {.timeout_secs = 600});
  for (const int slow : {0, group->size() - 1}) {
    // MPI has no clock of the test's: real time must pass, as for the deadlines of the contract.
    if (group->rank() == slow) std::this_thread::sleep_for(std::chrono::milliseconds(700));
    EXPECT_EQ(group->all_max(group->rank()), group->size() - 1);
    EXPECT_EQ(group->broadcast(std::to_string(group->rank())), "0");
    const std::vector<std::string> all = group->all_gather(std::to_string(group->rank()));
    for (int rank = 0; rank < group->size(); ++rank)
      EXPECT_EQ(all[static_cast<size_t>(rank)], std::to_string(rank));
  }
}

}  // namespace
}  // namespace crochet::mpi::internal
