// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "crochet/base/export.h"

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

}  // namespace crochet::inline v0
