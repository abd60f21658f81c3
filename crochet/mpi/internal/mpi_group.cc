// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/mpi/internal/mpi_group.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/group/internal/meet.h"
#include "crochet/group/internal/message_bytes.h"
#include "crochet/mpi/internal/communicator.h"
#include "crochet/mpi/internal/transfers.h"

namespace crochet::inline v0::mpi::internal {
namespace {

// For telling the others of a failure.
constexpr double kFailureSecs = 1;
// For connecting with rank 0 by TCP, at one of its addresses.
constexpr double kConnectSecs = 10;
// A rank that has waited for so long is notified for whom.
constexpr double kReportSecs = 0.5;

// Pauses between two looks at what is under way: short ones first, since most messages take
// microseconds, then longer ones, which leave the processor to others.
class BackOff {
 public:
  explicit BackOff(Clock& clock) : clock_(clock) {}

  void pause() {
    constexpr int kYields = 500;
    constexpr Clock::Duration kShortest = std::chrono::microseconds(20);
    constexpr Clock::Duration kLongest = std::chrono::milliseconds(1);
    if (++num_pauses_ <= kYields) return std::this_thread::yield();
    clock_.sleep_for(pause_);
    pause_ = std::min(std::max(2 * pause_, kShortest), kLongest);
  }

 private:
  Clock& clock_;
  int num_pauses_ = 0;
  Clock::Duration pause_ = std::chrono::microseconds(20);
};

int rank_in(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  return size;
}

// Not negative.
int64_t hash_of(std::string_view call) {
  return static_cast<int64_t>(crochet::internal::message_hash(call) >> 1);
}

void wait_for_all(MPI_Request& request, int rank, WaitLimit& limit, Clock& clock,
                  const char* activity) {
  BackOff back_off(clock);
  while (true) {
    int done = 0;
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) return;
    if (limit.is_over())
      throw DeadlineExceededError(
          fmt::format("mpi::join: rank {} waited {:.4g} s for the other ranks: {}", rank,
                      limit.waited_secs(), activity));
    back_off.pause();
  }
}

}  // namespace

MpiGroup::Communicator::Communicator(MPI_Comm original, double timeout_secs) {
  WaitLimit limit(Clock::real(), timeout_secs);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Comm_idup(original, &comm_, &request), "MPI_Comm_idup");
  wait_for_all(request, rank_in(original), limit, Clock::real(), "not all of them have joined");
  check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

void MpiGroup::Communicator::free() { check(MPI_Comm_free(&comm_), "MPI_Comm_free"); }

MpiGroup::MpiGroup(std::shared_ptr<Communicator> communicator, double timeout_secs, bool finalizes)
    : Group({.rank = rank_in(communicator->get()),
             .size = size_of(communicator->get()),
             .name = "mpi",
             .timeout_secs = timeout_secs}),
      communicator_(std::move(communicator)),
      finalizes_(finalizes),
      num_exceptions_(std::uncaught_exceptions()) {
  if (is_chief()) inbox_ = std::make_unique<Inbox>(communicator_->get(), size());
  if (size() > 1) start_watch();
}

// The first broadcast, which is that of no call.
std::string MpiGroup::share(const std::string& message) {
  WaitLimit limit(clock(), timeout_secs());
  if (is_chief()) {
    answer_all(0, message, limit);
    return message;
  }
  Broadcast broadcast(communicator_->get());
  const auto is_done = [&] { return broadcast.is_done(); };
  if (!wait_until(0, limit, is_done, [] {})) throw silent_error(0, {0}, limit);
  return broadcast.take();
}

void MpiGroup::start_watch() {
  crochet::internal::Membership self{
      .job = name(), .rank = rank(), .size = size(), .process = crochet::internal::own_process()};
  std::string place;
  if (is_chief()) {
    crochet::internal::OpenPlace open = crochet::internal::open_place();
    self.nonce = open.place.nonce;
    place = open.place.encode();
    watch_ = std::make_unique<crochet::internal::RankWatch>(self, std::move(open.listener));
  }
  const auto found = crochet::internal::MeetingPlace::parse(share(place));
  if (is_chief()) return;
  self.nonce = found.nonce;
  try {
    watch_ = crochet::internal::reach_watch(self, found.addresses,
                                            std::min(kConnectSecs, timeout_secs()));
  } catch (const Error& error) {
    log_warning(
        fmt::format("{}: a rank that is lost will be noticed only when the limit of {:g} s is "
                    "over: {}",
                    who(), timeout_secs(), error.what()));
  }
}

MpiGroup::~MpiGroup() {
  // Others that wait in vain find out at their deadlines; waiting for them here has none.
  if (!owner_.is_here()) return;
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);  // By the program.
  const crochet::internal::Loss end{
      .from_call = next_call() + 1, .rank = rank(), .reason = "has ended", .is_end = true};
  if (watch_ && is_lost()) watch_->tell(end);
  if (is_finalized != 0 || is_lost()) return;
  if (std::uncaught_exceptions() > num_exceptions_) {
    leave("an exception ended its program");
    return;
  }
  try {
    barrier();  // What follows has no limit.
    if (watch_) watch_->tell(end);
    if (inbox_) inbox_->close();
    communicator_->free();
    if (finalizes_) check(MPI_Finalize(), "MPI_Finalize");
  } catch (const Error& error) {
    log_warning(fmt::format("ending {}: {}", who(), error.what()));
  }
}

std::optional<std::string> MpiGroup::known_failure(int64_t number) const {
  if (!watch_) return std::nullopt;
  std::optional<crochet::internal::Loss> loss = watch_->loss(number);
  if (!loss) return std::nullopt;
  if (!loss->answer.empty()) return std::move(loss->answer);
  return failure_answer(RankFailedError(loss->rank, loss->reason), loss->rank);
}

template <typename IsDone, typename IfSlow>
bool MpiGroup::wait_until(int64_t number, WaitLimit& limit, IsDone is_done, IfSlow if_slow) {
  BackOff back_off(clock());
  const double slow_secs = std::min(kReportSecs, timeout_secs() / 4);
  while (true) {
    const bool is_lost = watch_ && watch_->loss(number);
    if (is_done()) return true;
    if (is_lost || limit.is_over()) return false;
    if (limit.waited_secs() > slow_secs) if_slow();
    back_off.pause();
  }
}

DeadlineExceededError MpiGroup::silent_error(int64_t number, const std::vector<int>& silent,
                                             const WaitLimit& limit) const {
  // Rank 0 may itself wait for another one.
  if (!is_chief() && watch_)
    if (const auto missing = watch_->missing(number); missing && !missing->empty())
      return missing_error(number, *missing, limit.waited_secs());
  return missing_error(number, silent, limit.waited_secs());
}

std::string MpiGroup::failure(int64_t number, const std::vector<int>& silent,
                              const WaitLimit& limit) const {
  if (std::optional<std::string> lost = known_failure(number)) return *std::move(lost);
  throw silent_error(number, silent, limit);
}

std::string MpiGroup::exchange(int64_t number, const std::string& message, WaitLimit& limit,
                               const Combine& combine) {
  unfinished_call_ = number;
  std::string answer = attempt(number, message, limit, combine);
  unfinished_call_.reset();
  return answer;
}

std::string MpiGroup::attempt(int64_t number, const std::string& message, WaitLimit& limit,
                              const Combine& combine) {
  MPI_Comm comm = communicator_->get();
  const MessageView view = view_of(message);
  Reduction reduction(comm, hash_of(view.call), view.number.value_or(0));
  std::optional<Sending> sending;
  const auto send = [&] {
    if (!is_chief() && !sending) sending.emplace(comm, number, message);
  };
  const auto silent = [&] {
    std::vector<int> ranks = others();
    if (is_chief()) std::erase_if(ranks, [&](int each) { return inbox_->has(each, number); });
    return ranks;
  };
  const auto report = [&] {
    send();
    if (is_chief() && watch_) watch_->set_missing(number, silent());
  };
  const auto is_reduced = [&] { return reduction.is_done(); };
  if (!wait_until(number, limit, is_reduced, report)) {
    report();
    return failure(number, silent(), limit);
  }
  const bool is_same = reduction.is_same_call();
  if (is_same && (view.number || !view.has_bytes)) {
    if (watch_ && is_chief()) watch_->set_answered(number);
    const auto like = [&view](int64_t value) {
      return message_like(
          view, view.number ? crochet::internal::MessageWriter().number(value).take() : "");
    };
    return combine({like(reduction.smallest()), like(reduction.largest())});
  }
  if (is_chief()) return decide(number, message, view, is_same, limit, combine);
  if (!is_same || view.sender.value_or(rank()) == rank()) send();
  Broadcast answer(comm);
  const auto is_done = [&] {
    const bool is_sent = !sending || sending->is_done();
    return answer.is_done() && is_sent;
  };
  if (!wait_until(number, limit, is_done, [] {})) return failure(number, {0}, limit);
  return answer.take();
}

std::vector<int> MpiGroup::others() const {
  if (!is_chief()) return {0};
  std::vector<int> others;
  for (int rank = 1; rank < size(); ++rank) others.push_back(rank);
  return others;
}

std::string MpiGroup::decide(int64_t number, const std::string& message, const MessageView& view,
                             bool is_same, WaitLimit& limit, const Combine& combine) {
  is_answer_due_ = true;
  std::vector<int> senders = others();
  if (is_same && view.sender)
    std::erase_if(senders, [&](int rank) { return rank != *view.sender; });
  std::vector<std::string> messages(static_cast<size_t>(size()), message_like(view, ""));
  messages.front() = message;
  if (std::optional<std::string> failure = collect(number, senders, messages, limit))
    return *std::move(failure);
  if (watch_) watch_->set_answered(number);
  std::string answer = combine(messages);
  is_answer_due_ = false;
  answer_all(number + 1, answer, limit);
  return answer;
}

std::optional<std::string> MpiGroup::collect(int64_t number, const std::vector<int>& senders,
                                             std::vector<std::string>& messages, WaitLimit& limit) {
  std::vector<int> silent = senders;
  const auto is_done = [&] {
    std::erase_if(silent, [&](int rank) {
      if (!inbox_->has(rank, number)) return false;
      messages[static_cast<size_t>(rank)] = inbox_->take(rank);
      return true;
    });
    return silent.empty();
  };
  const auto report = [&] {
    if (watch_) watch_->set_missing(number, silent);
  };
  if (wait_until(number, limit, is_done, report)) return std::nullopt;
  return failure(number, silent, limit);
}

void MpiGroup::answer_all(int64_t number, const std::string& answer, WaitLimit& limit) {
  Broadcast broadcast(communicator_->get(), answer);
  const auto is_done = [&] { return broadcast.is_done(); };
  wait_until(number, limit, is_done, [] {});  // If it fails, the next call finds out.
}

void MpiGroup::send_failure(int64_t number, const std::string& message, const std::string& answer) {
  if (watch_)
    return watch_->tell({.from_call = unfinished_call_.value_or(number),
                         .rank = rank(),
                         .reason = "left",
                         .answer = answer});
  // Without a watch, as in a call that is like no other. Nobody may be there.
  MPI_Comm comm = communicator_->get();
  WaitLimit limit(clock(), kFailureSecs);
  constexpr int64_t kNoCall = std::numeric_limits<int64_t>::min();
  std::optional<Reduction> reduction;
  if (!is_answer_due_) reduction.emplace(comm, hash_of("failure"), 0);
  if (is_chief()) return answer_all(kNoCall, answer, limit);
  Sending sending(comm, number, message);
  wait_until(
      kNoCall, limit, [&] { return sending.is_done(); }, [] {});
}

}  // namespace crochet::inline v0::mpi::internal
