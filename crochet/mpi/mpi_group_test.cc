// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Each process that mpirun starts runs all tests, as one rank.
#include "crochet/mpi/mpi_group.h"

#include <mpi.h>

#include "crochet/mpi/join.h"
#include "crochet/testing/group_contract.h"

namespace crochet::mpi {
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

}  // namespace
}  // namespace crochet::mpi
