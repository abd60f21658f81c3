// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/group/group.h"
#include "crochet/group/internal/line.h"
#include "crochet/group/internal/rank_watch.h"

namespace crochet::inline v0::internal {

// A group whose ranks are connected with rank 0 by TCP, each by two lines: one for messages, and
// the one of its RankWatch.
class SocketGroup final : public Group {
 public:
  // In rank 0. The others are connected by and by.
  SocketGroup(std::unique_ptr<RankWatch> watch, const GroupOptions& options);
  // In another rank. `where` is rank 0's address, for messages.
  SocketGroup(std::unique_ptr<RankWatch> watch, Line to_chief, std::string where,
              const GroupOptions& options);
  // Leaves the group if an exception destroys it.
  ~SocketGroup() override;

 private:
  class Gathering;

  std::string exchange(int64_t number, const std::string& message, WaitLimit& limit,
                       const Combine& combine) override;
  std::optional<std::string> known_failure(int64_t number) const override;
  void send_failure(int64_t number, const std::string& message, const std::string& answer) override;

  // Throws: UnavailableError if the line has ended.
  std::string ask_chief(int64_t number, const std::string& message, WaitLimit& limit);
  std::string collect(int64_t number, const std::string& message, WaitLimit& limit,
                      const Combine& combine);
  void answer_all(int64_t number, const std::string& answer, WaitLimit& limit);
  // Answers as far as it fits at once.
  void try_to_answer(const std::string& answer) noexcept;
  std::string lost_answer(const Loss& loss) const;
  // The answer for a line that has ended in this call.
  std::string ended_answer(int64_t number, int rank, const std::string& error);
  DeadlineExceededError silent_chief_error(int64_t number, const WaitLimit& limit) const;
  void wait(const WaitLimit& limit);

  const std::unique_ptr<RankWatch> watch_;
  std::map<int, Line> lines_;  // By rank.
  const std::string where_;
  const int num_exceptions_;  // In flight when the group was made.
};

}  // namespace crochet::inline v0::internal
