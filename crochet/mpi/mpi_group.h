// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "crochet/group/group.h"

namespace crochet::inline v0::mpi {

// The group of the processes of MPI_COMM_WORLD, in a communicator of its own.
//
// Rank 0 receives the messages of the others and sends them an answer, without collective
// operations: these cannot tell who is missing, and cannot be cancelled.
class MpiGroup final : public Group {
 public:
  // `finalizes` says whether the end of the group is the end of MPI. Requires: MPI is initialised;
  // all processes make this call. Throws: UnavailableError.
  MpiGroup(double timeout_secs, bool finalizes);
  ~MpiGroup() override;

 private:
  class Communicator;

  std::string exchange(int64_t number, const std::string& message, Clock::TimePoint deadline,
                       const Combine& combine) override;
  void send_failure(int64_t number, const std::string& message, const std::string& answer) override;

  std::string collect(int64_t number, const std::string& message, Clock::TimePoint deadline,
                      const Combine& combine);
  // Returns, less 1, the ranks that have not received it at the deadline.
  std::vector<int> answer_all(const std::string& answer, Clock::TimePoint deadline);

  const std::shared_ptr<Communicator> communicator_;
  const bool finalizes_;
  const int num_exceptions_;  // In flight when the group was made.
};

}  // namespace crochet::inline v0::mpi
