// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/group/group.h"

namespace crochet::inline v0 {

// Which rank of how many this process is, as what started it says in the environment:
//
//   torchrun     RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT,
//                TORCHELASTIC_RESTART_COUNT, TORCHELASTIC_RUN_ID, TORCHELASTIC_USE_AGENT_STORE
//   Open MPI     OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, OMPI_COMM_WORLD_LOCAL_RANK
//   MPICH        PMI_RANK, PMI_SIZE, MPI_LOCALRANKID
//   Slurm        SLURM_PROCID, SLURM_STEP_NUM_TASKS or SLURM_NTASKS, SLURM_LOCALID,
//                SLURM_RESTART_COUNT, SLURM_JOB_ID and SLURM_STEP_ID; the first host of
//                SLURM_STEP_NODELIST or SLURM_JOB_NODELIST
//
// The first that is found counts. MASTER_ADDR and MASTER_PORT may be set with each of them, and
// CROCHET_JOB, which distinguishes jobs that a script starts: give each another one. A process that
// none of them started is the only one.
struct CROCHET_EXPORT GroupEnvironment {
  // The value of a variable; unset if there is none.
  using Lookup = std::function<std::optional<std::string>(const char* name)>;

  int rank = 0;
  int size = 1;
  // Among the processes of the same machine; 0 if that is unknown.
  int local_rank = 0;
  // "torchrun", "Open MPI", "MPICH" or "Slurm"; "" for a process alone.
  std::string launcher = {};
  // Where rank 0, or torchrun, serves a store.
  std::string master_addr = {};
  std::optional<int> master_port = {};
  // True if torchrun serves the store: rank 0 is a client, too.
  bool uses_agent_store = false;
  // What distinguishes this job from others that use the same port or store.
  std::string job = {};
  int64_t restart_count = 0;

  // Throws: InvalidArgumentError, which names the variable, for a value that is not a number or out
  // of range, for variables that are missing beside others, and for torchrun's variables, set by
  // hand, that contradict MPI's.
  static GroupEnvironment from_environment();
  static GroupEnvironment from_environment(const Lookup& lookup);

  // "10.0.0.1:29500". Throws: FailedPreconditionError that names the variable that is missing.
  std::string master_address() const;
};

struct JoinGroupOptions {
  // The most seconds that a call of the group waits for the other ranks, unless it has a limit of
  // its own.
  double timeout_secs = 1800;
  // The most seconds until rank 0 is reached: it may start later.
  double connect_timeout_secs = 300;
  // Instead of the environment's restart count, for a job that something else restarts: processes
  // of different starts never meet.
  std::optional<int64_t> generation = {};
};

// The group of the processes that torchrun, mpirun, Slurm or a script has started with this one,
// over TCP. Called once, by all of them:
//
//   int main() {
//     const std::shared_ptr<Group> group = join_group();
//
// Rank 0 listens at MASTER_ADDR and MASTER_PORT, and all others connect to it. Where torchrun has a
// store there, use libtorch::join.
//
// A rank whose process ends is noticed by the others at once, and one whose host is gone or out of
// reach in five seconds: in a call of the group, which throws, as well as during a step, in a
// warning in the log. A process that is busy, or suspended and continued, is not lost before the
// limit of a call is over.
//
// Destroying the group of rank 0 waits for the other ranks, which might not have read their last
// message: up to timeout_secs, or a few seconds if the group is lost or an exception destroys it.
//
// Rank 0 listens on all interfaces of the machine, and anyone who reaches it and knows the name of
// the job can take part: use it in a private network.
//
// Returns a SingleGroup in a process that none of them has started, or that is the only one.
//
// Throws: InvalidArgumentError for an environment that GroupEnvironment refuses;
// FailedPreconditionError if MASTER_ADDR or MASTER_PORT is missing, or torchrun serves a store
// there; UnavailableError, which names the rank and the address, if it cannot listen, or reach rank
// 0 in time; AlreadyExistsError, which names the other job, if the port is another job's, or if
// another process was this rank of this generation.
CROCHET_EXPORT std::shared_ptr<Group> join_group(const JoinGroupOptions& options = {});
CROCHET_EXPORT std::shared_ptr<Group> join_group(const GroupEnvironment& environment,
                                                 const JoinGroupOptions& options = {});

}  // namespace crochet::inline v0
