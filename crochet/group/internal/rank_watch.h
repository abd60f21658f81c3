// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/base/internal/process_owner.h"
#include "crochet/base/internal/thread.h"
#include "crochet/group/internal/greeter.h"
#include "crochet/group/internal/line.h"
#include "crochet/group/internal/membership.h"

namespace crochet::inline v0::internal {

// Why a group can make no further calls.
struct Loss {
  int64_t from_call = 0;  // Calls before this one can be completed.
  int rank = 0;           // Whom the group has lost.
  std::string reason = {};
  std::string answer = {};  // What the rank said itself: an answer of the group.
  bool is_end = false;      // It ended its group, as all do.
};

// Notifies each rank of a group when another one is lost, while they compute as well as while they
// wait: a line between rank 0 and each other rank, on which next to nothing is sent, and a thread
// that sleeps until something arrives there. A process that ends, ends its line, which the
// kernel reports at once. A host that is gone or out of reach is noticed after three or four
// seconds without a sign of life. A process that is busy or suspended is not lost.
//
// Thread-safe. A forked child has no watch: there it does nothing.
class CROCHET_EXPORT RankWatch {
 public:
  // In rank 0. Connections arrive at `listener`.
  RankWatch(Membership self, Socket listener);
  // In another rank, with its line to rank 0.
  RankWatch(Membership self, const Membership& chief, Line to_chief);
  // Ends it. In rank 0 waits for the others' ends for up to `linger_secs`.
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

  // Unset as long as this call can be completed.
  std::optional<Loss> loss(int64_t call) const;
  bool has_loss() const;
  // Notifies the others, unless there is a loss already.
  void tell(const Loss& loss) noexcept;
  // In rank 0: this call will be completed, although a rank may be lost from now on.
  void set_answered(int64_t call);
  // In rank 0: notifies the others for whom it waits in this call.
  void set_missing(int64_t call, const std::vector<int>& missing) noexcept;
  // What rank 0 has said last of this call. Unset if it does not wait in it.
  std::optional<std::vector<int>> missing(int64_t call) const;
  void set_linger(double secs);

  // In rank 0: the line for messages of a rank that has joined since; for each one once.
  std::optional<Line> take_messages(int rank);
  // Becomes readable when there is a loss, or a rank has joined.
  int event_fd() const { return event_fd_; }
  void clear_event() const;

 private:
  struct Peer {
    Membership member;
    Line line;
    bool is_gone = false;
  };

  void start();
  void work();
  void look();
  std::vector<pollfd> events() const;
  bool is_free(const Greeting& greeting) const;
  void join(const Greeting& greeting, Line line);
  void look_at(int rank, Peer& peer);
  void receive(int rank, const std::string& message);
  void end_of(int rank, Peer& peer, const std::string& error);
  void lose(const Loss& loss, int source);
  void send_all(const std::string& message, int except) noexcept;
  bool are_others_gone() const;
  void wait_for_others();
  static void signal(int fd);
  void clear(int fd) const;

  const Membership self_;
  const ProcessOwner owner_;
  const int event_fd_;
  const int wake_fd_;
  double linger_secs_ = 0;

  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::unique_ptr<Greeter> greeter_;  // In rank 0.
  std::map<int, Peer> peers_;         // By rank.
  std::map<int, Line> messages_;
  std::set<int> had_messages_;
  std::optional<Loss> loss_;
  std::string warning_;  // Logged by the thread, without the lock.
  int64_t answered_ = 0;
  int64_t waiting_call_ = 0;
  std::vector<int> missing_;
  bool is_stopped_ = false;
  Thread thread_;
};

}  // namespace crochet::inline v0::internal
