// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/group/join.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Optional;
using testing::ThrowsMessage;

using Variables = std::map<std::string, std::string>;

GroupEnvironment read(const Variables& variables) {
  return GroupEnvironment::from_environment([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

// The message of the error.
std::string refusal(const Variables& variables) {
  try {
    read(variables);
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
  return "no error";
}

const Variables kTorchrun = {{"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"MASTER_ADDR", "10.0.0.1"},
                             {"MASTER_PORT", "29500"},
                             {"TORCHELASTIC_RESTART_COUNT", "2"},
                             {"TORCHELASTIC_RUN_ID", "run"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "True"}};

Variables with(Variables variables, const Variables& changes) {
  for (const auto& [name, value] : changes) variables[name] = value;
  return variables;
}

Variables without(Variables variables, const char* name) {
  variables.erase(name);
  return variables;
}

TEST(GroupEnvironmentTest, IsAloneWithoutVariables) {
  const GroupEnvironment found = read({{"PATH", "/bin"}});
  EXPECT_EQ(found.rank, 0);
  EXPECT_EQ(found.size, 1);
  EXPECT_EQ(found.launcher, "");
  EXPECT_THAT([&] { found.master_address(); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("MASTER_ADDR")));
}

TEST(GroupEnvironmentTest, ReadsTorchrun) {
  const GroupEnvironment found = read(kTorchrun);
  EXPECT_EQ(found.launcher, "torchrun");
  EXPECT_EQ(found.rank, 5);
  EXPECT_EQ(found.size, 8);
  EXPECT_EQ(found.local_rank, 1);
  EXPECT_EQ(found.master_address(), "10.0.0.1:29500");
  EXPECT_EQ(found.restart_count, 2);
  EXPECT_EQ(found.job, "run");
  EXPECT_TRUE(found.uses_agent_store);
}

TEST(GroupEnvironmentTest, ReadsOpenMpi) {
  const GroupEnvironment found = read({{"OMPI_COMM_WORLD_RANK", "1"},
                                       {"OMPI_COMM_WORLD_SIZE", "4"},
                                       {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                       {"PMIX_NAMESPACE", "1234"},
                                       {"MASTER_PORT", "1"}});
  EXPECT_EQ(found.launcher, "Open MPI");
  EXPECT_EQ(found.rank, 1);
  EXPECT_EQ(found.size, 4);
  EXPECT_EQ(found.local_rank, 1);
  EXPECT_EQ(found.job, "1234");
  EXPECT_THAT(found.master_port, Optional(1));
}

TEST(GroupEnvironmentTest, ReadsMpich) {
  const GroupEnvironment found =
      read({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "2"}});
  EXPECT_EQ(found.launcher, "MPICH");
  EXPECT_EQ(found.rank, 3);
  EXPECT_EQ(found.size, 4);
  EXPECT_EQ(found.local_rank, 2);
}

TEST(GroupEnvironmentTest, ReadsATaskOfSlurm) {
  const Variables task = {{"SLURM_PROCID", "6"},  {"SLURM_NTASKS", "16"},
                          {"SLURM_LOCALID", "2"}, {"SLURM_STEP_ID", "0"},
                          {"SLURM_JOB_ID", "77"}, {"SLURM_RESTART_COUNT", "1"}};
  const GroupEnvironment found = read(with(task, {{"SLURM_JOB_NODELIST", "gpu[07-12,20],other"}}));
  EXPECT_EQ(found.launcher, "Slurm");
  EXPECT_EQ(found.rank, 6);
  EXPECT_EQ(found.size, 16);
  EXPECT_EQ(found.local_rank, 2);
  EXPECT_EQ(found.master_addr, "gpu07");
  EXPECT_EQ(found.job, "77.0");
  EXPECT_EQ(found.restart_count, 1);
  EXPECT_EQ(read(with(task, {{"SLURM_STEP_NUM_TASKS", "8"}})).size, 8);
  EXPECT_EQ(read(with(task, {{"SLURM_JOB_NODELIST", "a1,b2"}})).master_addr, "a1");
  EXPECT_EQ(read(with(task, {{"SLURM_JOB_NODELIST", "rack[1,3]-node"}})).master_addr, "rack1-node");
  EXPECT_EQ(read(with(task, {{"SLURM_JOB_NODELIST", "n[1"}})).master_addr, "n1");
  EXPECT_EQ(read(with(task, {{"MASTER_ADDR", "set"}})).master_addr, "set");
}

// It has the number of tasks of the job, and is not one of them.
TEST(GroupEnvironmentTest, ABatchScriptOfSlurmIsAlone) {
  EXPECT_EQ(read({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}}).size, 1);
}

TEST(GroupEnvironmentTest, NamesAVariableThatIsMissing) {
  EXPECT_EQ(refusal(without(kTorchrun, "WORLD_SIZE")),
            "environment variable WORLD_SIZE is missing, expected beside RANK, which is set");
  EXPECT_THAT(refusal(without(kTorchrun, "RANK")), HasSubstr("RANK is missing"));
  EXPECT_THAT(refusal(without(kTorchrun, "MASTER_ADDR")), HasSubstr("MASTER_ADDR is missing"));
  EXPECT_THAT(refusal(without(kTorchrun, "MASTER_PORT")), HasSubstr("MASTER_PORT is missing"));
  EXPECT_THAT(refusal({{"OMPI_COMM_WORLD_SIZE", "2"}}),
              HasSubstr("OMPI_COMM_WORLD_RANK is missing"));
  EXPECT_THAT(refusal({{"PMI_RANK", "0"}}), HasSubstr("PMI_SIZE is missing"));
  EXPECT_THAT(refusal({{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}}),
              HasSubstr("SLURM_NTASKS is missing"));
}

TEST(GroupEnvironmentTest, NamesAVariableThatIsWrong) {
  EXPECT_EQ(refusal(with(kTorchrun, {{"RANK", "8"}})),
            "environment variable RANK is \"8\", expected a number from 0 to 7");
  EXPECT_EQ(refusal(with(kTorchrun, {{"WORLD_SIZE", "0"}})),
            "environment variable WORLD_SIZE is \"0\", expected a number from 1");
  for (const char* const text : {"", "x", "1x", " 1", "-1", "1.0", "99999999999", "0x1"})
    EXPECT_THAT(refusal(with(kTorchrun, {{"RANK", text}})), HasSubstr("variable RANK is"));
  EXPECT_THAT(refusal(with(kTorchrun, {{"LOCAL_RANK", "8"}})), HasSubstr("LOCAL_RANK is \"8\""));
  EXPECT_THAT(refusal(with(kTorchrun, {{"MASTER_PORT", "65536"}})), HasSubstr("MASTER_PORT"));
  EXPECT_THAT(refusal(with(kTorchrun, {{"TORCHELASTIC_RESTART_COUNT", "-1"}})),
              HasSubstr("TORCHELASTIC_RESTART_COUNT"));
}

TEST(GroupEnvironmentTest, NamesVariablesThatContradictEachOther) {
  const Variables by_hand = {{"RANK", "0"},
                             {"WORLD_SIZE", "4"},
                             {"OMPI_COMM_WORLD_RANK", "1"},
                             {"OMPI_COMM_WORLD_SIZE", "4"}};
  EXPECT_EQ(refusal(by_hand), "environment variable RANK is 0, expected 1 as OMPI_COMM_WORLD_RANK");
  EXPECT_THAT(refusal(with(by_hand, {{"WORLD_SIZE", "2"}})), HasSubstr("WORLD_SIZE is 2"));
  EXPECT_EQ(read(with(by_hand, {{"RANK", "1"}})).rank, 1);
  // torchrun was started by MPI, once on each machine.
  EXPECT_EQ(read(with(by_hand, {{"TORCHELASTIC_RUN_ID", "run"}})).rank, 0);
}

}  // namespace
}  // namespace crochet
