// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/group/group.h"
#include "crochet/group/rank_watch.h"

namespace crochet::inline v0::mpi {

// The group of the processes of MPI_COMM_WORLD, in a communicator of its own.
//
// Rank 0 receives the messages of the others and sends them an answer, without collective
// operations: these cannot tell who is missing, and cannot be cancelled. A RankWatch notices who is
// lost, which MPI does not.
class MpiGroup final : public Group {
 public:
  // `finalizes` says whether the end of the group is the end of MPI. Requires: MPI is initialised;
  // all processes make this call. Throws: UnavailableError; DeadlineExceededError if they do not.
  MpiGroup(double timeout_secs, bool finalizes);
  ~MpiGroup() override;

 private:
  class Communicator;

  std::string exchange(int64_t number, const std::string& message, WaitLimit& limit,
                       const Combine& combine) override;
  std::optional<std::string> known_failure(int64_t number) const override;
  void send_failure(int64_t number, const std::string& message, const std::string& answer) override;

  std::string collect(int64_t number, const std::string& message, WaitLimit& limit,
                      const Combine& combine);
  // Returns the ranks that have not received it when the limit is over.
  std::vector<int> answer_all(int64_t number, const std::string& answer, WaitLimit& limit);
  // Returns rank 0's message in every rank.
  std::string share(const std::string& message);
  void start_watch();
  // Waits for transfers with these ranks. Returns those whose transfers are not done when the limit
  // is over, or a rank is lost without which this call cannot be made.
  template <typename Transfer>
  std::vector<int> wait_for(std::map<int, Transfer>& transfers, int64_t number, WaitLimit& limit);
  DeadlineExceededError silent_error(int64_t number, const std::vector<int>& silent,
                                     const WaitLimit& limit) const;

  std::unique_ptr<internal::RankWatch> watch_;  // Null if rank 0 cannot be reached by TCP.
  const std::shared_ptr<Communicator> communicator_;
  const bool finalizes_;
  const ProcessOwner owner_;
  const int num_exceptions_;  // In flight when the group was made.
};

}  // namespace crochet::inline v0::mpi
