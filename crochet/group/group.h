// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/base/error.h"
#include "crochet/base/internal/export.h"
#include "crochet/base/internal/process_owner.h"

namespace crochet::inline v0 {

// A limit of the time for which a call waits for other processes. It counts only time in which this
// process ran: one that was suspended (SIGSTOP, Slurm, a laptop's sleep) has not given the others
// their time. For that, a caller that waits looks often:
//
//   WaitLimit limit(clock, seconds);
//   while (!has_arrived()) {
//     if (limit.is_over()) throw ...;
//     sleep(limit.pause());
//   }
class CROCHET_EXPORT WaitLimit {
 public:
  // Requires: the clock outlives this; `secs` is above 0.
  WaitLimit(Clock& clock, double secs);
  // A part of a longer wait, which it counts for as well, and ends with. Requires: that one
  // outlives this.
  WaitLimit(WaitLimit& whole, double secs);

  // True once the limit is used up. Of the time since the last call it counts a few pauses at most.
  bool is_over();
  // The longest that the caller may sleep until it calls is_over() again.
  Clock::Duration pause() const;
  Clock::Duration rest() const { return limit_ - used_; }
  // At most the limit.
  double waited_secs() const { return to_seconds(std::min(used_, limit_)); }

 private:
  Clock& clock_;
  WaitLimit* const whole_ = nullptr;
  const Clock::Duration limit_;
  Clock::TimePoint looked_;  // The last time.
  Clock::Duration used_{};
};

// Another rank of a group failed: it said so before it left the group, or its process or its host
// is gone.
class CROCHET_EXPORT RankFailedError : public CancelledError {
 public:
  RankFailedError(int rank, std::string_view message) : CancelledError(message), rank_(rank) {}

  int rank() const noexcept { return rank_; }

 private:
  int rank_;
};

struct GroupOptions {
  int rank = 0;
  int size = 1;
  // For messages, such as the name of the job.
  std::string name = {};
  // How often the job was restarted: groups of different generations never exchange a message.
  int64_t generation = 0;
  // The most seconds that a call waits for the other ranks, unless it has a limit of its own. Time
  // in which this process was suspended does not count.
  double timeout_secs = 1800;
  // Measures that time; Clock::real() if null. Not owned.
  Clock* clock = nullptr;
};

// Processes that run one program together, numbered from 0 (their ranks), and what they need to
// agree: small messages, not tensors. Rank 0 is the chief.
//
//   group->barrier();
//   const std::string choice = group->broadcast(group->is_chief() ? choose() : "");
//   const bool all_done = group->all_max(is_busy ? 1 : 0) == 0;
//
// Each call is made by every rank, in the same order, and returns once all ranks have made it. A
// rank whose call differs from the chief's is reported to all of them.
//
// Every call throws:
//   DeadlineExceededError    if not all ranks made the call in time; names the missing ones
//   UnavailableError         if the connection is lost
//   RankFailedError          if another rank called leave(), or is gone; names it
//   FailedPreconditionError  if the ranks made different calls; names both. In a forked child
//   InvalidArgumentError     for a root that is not a rank, or more than 1 GiB: nothing is sent
// After any of these but the last, the group is lost: each later call throws the first error again,
// at once.
//
// For one thread: calls at the same time are refused with a FailedPreconditionError.
class CROCHET_EXPORT Group {
 public:
  using Timeout = std::optional<double>;  // In seconds; unset: GroupOptions::timeout_secs.

  virtual ~Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const { return options_.rank; }
  int size() const { return options_.size; }
  bool is_chief() const { return rank() == 0; }
  const std::string& name() const { return options_.name; }
  int64_t generation() const { return options_.generation; }
  double timeout_secs() const { return options_.timeout_secs; }

  void barrier(Timeout timeout_secs = {});
  // Returns the bytes of rank `root` in every rank; those of the others are not sent.
  std::string broadcast(std::string_view bytes, int root = 0, Timeout timeout_secs = {});
  // Returns the bytes of all ranks, by rank, in the chief; nothing in the others.
  std::vector<std::string> gather(std::string_view bytes, Timeout timeout_secs = {});
  // Returns the bytes of all ranks, by rank, in every rank.
  std::vector<std::string> all_gather(std::string_view bytes, Timeout timeout_secs = {});
  // Returns the different bytes of all ranks in every rank, each with the lowest rank that has
  // them, in the order of these ranks. For what is mostly equal: an answer is then as long as one
  // message, not as all of them.
  struct Distinct {
    int rank;
    std::string bytes;
  };
  std::vector<Distinct> all_distinct(std::string_view bytes, Timeout timeout_secs = {});
  // Returns the largest value of all ranks in every rank.
  int64_t all_max(int64_t value, Timeout timeout_secs = {});
  // Returns the smallest and the largest value.
  struct Range {
    int64_t smallest;
    int64_t largest;
  };
  Range all_range(int64_t value, Timeout timeout_secs = {});

  // Leaves the group because this rank fails: the current or next call of every other rank throws a
  // RankFailedError with this rank and reason. Waits for nobody. Later calls of this rank throw the
  // same. Does nothing if the group is lost.
  void leave(std::string_view reason) noexcept;
  // Throws the RankFailedError of the next call, if a rank is known to be lost: for waits of the
  // program's own. Sends nothing.
  void throw_if_lost() const;
  // True once a call failed, or after leave().
  bool is_lost() const { return static_cast<bool>(error_); }

 protected:
  // What a message says, for a transport that can do more than carry it.
  struct MessageView {
    std::string_view call = {};      // Equal in ranks that make the same call.
    std::optional<int> sender = {};  // The rank whose bytes count; unset: those of all do.
    std::optional<int64_t> number =
        {};                 // Its bytes are this number; the least and the largest count.
    bool has_bytes = true;  // False for calls without bytes of any rank.
  };
  // Throws: DataLossError.
  static MessageView view_of(std::string_view message);
  // The message of a rank that makes the same call with these bytes.
  static std::string message_like(const MessageView& view, std::string_view bytes);

  // What rank 0 makes of the messages of all ranks, by rank. Does not throw.
  using Combine = std::function<std::string(const std::vector<std::string>& messages)>;

  // Throws: InvalidArgumentError for a rank that is not in the group, or a timeout that is not
  // above 0.
  explicit Group(GroupOptions options);

  Clock& clock() const { return *options_.clock; }
  // The number of the next call.
  int64_t next_call() const { return num_calls_ + 1; }
  // "rank 2 of 4 (job)".
  std::string who() const;
  // The error for ranks that did not make call `number` in time. `note` is what is known of them.
  DeadlineExceededError missing_error(int64_t number, const std::vector<int>& missing,
                                      double waited_secs, const std::string& note = "") const;
  // An answer with which each rank throws this error; a RankFailedError if `failed_rank` is one.
  std::string failure_answer(const Error& error, int failed_rank = -1) const;

 private:
  enum class Kind : uint8_t {
    kBarrier,
    kBroadcast,
    kGather,
    kAllGather,
    kAllDistinct,
    kAllMax,
    kAllRange,
    kFailure
  };
  struct Header;
  class InCall;

  // What a transport does: brings the messages of all ranks to rank 0, and what `combine` makes of
  // them to all ranks. Calls are numbered from 1. Where rank 0 waits for a message in vain, it must
  // send the others a failure_answer().
  // Throws: DeadlineExceededError, a missing_error(), once the limit is over; UnavailableError;
  // RankFailedError.
  virtual std::string exchange(int64_t number, const std::string& message, WaitLimit& limit,
                               const Combine& combine) = 0;
  // The answer with which call `number` will fail, if that is known.
  virtual std::optional<std::string> known_failure(int64_t number) const;
  // Sends `message` instead of that of the coming call, `number`, or in rank 0 `answer` to the
  // others, without waiting for anyone. May throw; the error is logged.
  virtual void send_failure(int64_t number, const std::string& message,
                            const std::string& answer) = 0;

  // The answer without its header.
  std::string call(Kind kind, int root, std::string_view bytes, Timeout timeout_secs,
                   const Combine& combine_bytes);
  void check_usable() const;
  // Informs the others that this rank makes no further call.
  void tell(const Error& error) noexcept;
  std::string combine(const std::vector<std::string>& messages, const Combine& combine_bytes) const;
  std::optional<std::string> difference(int rank, const Header& own, const Header& other) const;
  std::string encode(Kind kind, int root, int64_t number, std::string_view bytes) const;
  std::string open_answer(const std::string& answer) const;
  static const char* name_of(Kind kind);

  GroupOptions options_;
  const internal::ProcessOwner owner_;  // A forked child is not a rank.
  int64_t num_calls_ = 0;
  std::atomic<bool> in_call_ = false;
  std::exception_ptr error_;  // Why the group is lost.
};

// The group of a program that runs alone.
class CROCHET_EXPORT SingleGroup final : public Group {
 public:
  SingleGroup() : Group({.name = "single"}) {}

 private:
  std::string exchange(int64_t number, const std::string& message, WaitLimit& limit,
                       const Combine& combine) override;
  void send_failure(int64_t number, const std::string& message, const std::string& answer) override;
};

}  // namespace crochet::inline v0
