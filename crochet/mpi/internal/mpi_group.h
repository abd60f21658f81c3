// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/group/group.h"
#include "crochet/group/internal/rank_watch.h"

namespace crochet::inline v0::mpi::internal {

class Inbox;

// The group of the processes of an MPI communicator, in a communicator of its own.
//
// Each call begins with a reduction, by which all learn whether they make the same call, and the
// smallest and the largest number: in most calls that is all. In the others, those whose bytes
// count send them to rank 0, which broadcasts an answer. A reduction does not say who is missing:
// so ranks that have waited for some time send rank 0 their messages, whatever the call. No wait is
// one of MPI's, which has no limits and cannot be cancelled. A RankWatch notices who is lost, which
// MPI does not.
class MpiGroup final : public Group {
 public:
  // A copy of the caller's communicator, as MPI_Comm_idup makes it.
  class Communicator;

  // `finalizes` says whether the end of the group is the end of MPI. Requires: MPI is initialised;
  // all processes make this call. Throws: UnavailableError; DeadlineExceededError if they do not.
  MpiGroup(std::shared_ptr<Communicator> communicator, double timeout_secs, bool finalizes);
  ~MpiGroup() override;

 private:
  std::string exchange(int64_t number, const std::string& message, WaitLimit& limit,
                       const Combine& combine) override;
  std::optional<std::string> known_failure(int64_t number) const override;
  void send_failure(int64_t number, const std::string& message, const std::string& answer) override;

  std::string attempt(int64_t number, const std::string& message, WaitLimit& limit,
                      const Combine& combine);
  // The rest of attempt() in rank 0, where there are bytes, or different calls.
  std::string decide(int64_t number, const std::string& message, const MessageView& view,
                     bool is_same, WaitLimit& limit, const Combine& combine);
  // The ranks that this one waits for.
  std::vector<int> others() const;
  // The messages of `senders`, by rank. Throws, or returns what is known of a failure.
  std::optional<std::string> collect(int64_t number, const std::vector<int>& senders,
                                     std::vector<std::string>& messages, WaitLimit& limit);
  // In rank 0. Does not wait for ranks that are lost before call `number`.
  void answer_all(int64_t number, const std::string& answer, WaitLimit& limit);
  // Returns rank 0's message in every rank.
  std::string share(const std::string& message);
  void start_watch();
  // Waits until `is_done` returns true. Returns false if the limit is over before, or a rank is
  // lost without which this call cannot be made. Calls `if_slow` at intervals once it has waited
  // for some time.
  template <typename IsDone, typename IfSlow>
  bool wait_until(int64_t number, WaitLimit& limit, IsDone is_done, IfSlow if_slow);
  // What is known of a failure; throws the error of an expired limit if nothing is.
  std::string failure(int64_t number, const std::vector<int>& silent, const WaitLimit& limit) const;
  DeadlineExceededError silent_error(int64_t number, const std::vector<int>& silent,
                                     const WaitLimit& limit) const;

  std::unique_ptr<crochet::internal::RankWatch> watch_;  // Null if rank 0 cannot be reached by TCP.
  const std::shared_ptr<Communicator> communicator_;
  std::unique_ptr<Inbox> inbox_;            // In rank 0.
  std::optional<int64_t> unfinished_call_;  // It fails in the others, too.
  bool is_answer_due_ = false;              // In rank 0: the others wait for its answer.
  const bool finalizes_;
  const crochet::internal::ProcessOwner owner_;
  const int num_exceptions_;  // In flight when the group was made.
};

}  // namespace crochet::inline v0::mpi::internal
