// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/mpi/mpi_group.h"

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/group/meet.h"
#include "crochet/group/message_bytes.h"

namespace crochet::inline v0::mpi {
namespace {

// The first part of each message, with the length of all of it: the receiver knows no length
// before.
constexpr size_t kBlockBytes = 1024;
constexpr size_t kLengthBytes = sizeof(int64_t);
constexpr size_t kFirstBytes = kBlockBytes - kLengthBytes;

constexpr int kMessageTag = 1;
constexpr int kAnswerTag = 2;
// Added for what does not fit into the block.
constexpr int kRestTag = 10;

// For telling the others of a failure.
constexpr double kFailureSecs = 1;
// For connecting with rank 0 by TCP, at one of its addresses.
constexpr double kConnectSecs = 10;
// A rank that has waited for so long is notified for whom.
constexpr double kReportSecs = 0.5;

void check(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text = {};
  int length = 0;
  MPI_Error_string(result, text.data(), &length);
  throw UnavailableError(fmt::format("{}: {}", call, text.data()));
}

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

int world_rank() {
  int rank = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  return rank;
}

int world_size() {
  int size = 0;
  check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  return size;
}

// One operation of MPI and its memory. If it is not complete at the end, the memory is left to MPI,
// which may still use it.
class Operation {
 public:
  explicit Operation(size_t length) : bytes_(new char[length]), length_(length) {}
  ~Operation() {
    if (request_ != MPI_REQUEST_NULL) static_cast<void>(bytes_.release());
  }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  std::span<char> bytes() { return {bytes_.get(), length_}; }
  void send(MPI_Comm comm, int rank, int tag) {
    check(MPI_Isend(bytes_.get(), static_cast<int>(length_), MPI_BYTE, rank, tag, comm, &request_),
          "MPI_Isend");
  }
  void receive(MPI_Comm comm, int rank, int tag) {
    check(MPI_Irecv(bytes_.get(), static_cast<int>(length_), MPI_BYTE, rank, tag, comm, &request_),
          "MPI_Irecv");
  }
  bool is_done() {
    int done = 1;
    if (request_ != MPI_REQUEST_NULL)
      check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t length_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

// A message that is being sent.
class Sending {
 public:
  Sending(MPI_Comm comm, int rank, int tag, std::string_view message) {
    const std::string_view first = message.substr(0, kFirstBytes);
    const std::string block =
        internal::MessageWriter().number(static_cast<int64_t>(message.size())).rest(first).take();
    start(block, comm, rank, tag);
    if (message.size() > first.size())
      start(message.substr(first.size()), comm, rank, tag + kRestTag);
  }

  bool is_done() {
    return std::ranges::all_of(operations_, [](const auto& each) { return each->is_done(); });
  }

 private:
  void start(std::string_view bytes, MPI_Comm comm, int rank, int tag) {
    operations_.push_back(std::make_unique<Operation>(bytes.size()));
    std::ranges::copy(bytes, operations_.back()->bytes().begin());
    operations_.back()->send(comm, rank, tag);
  }

  std::vector<std::unique_ptr<Operation>> operations_;
};

// A message that is being received.
class Receiving {
 public:
  Receiving(MPI_Comm comm, int rank, int tag)
      : comm_(comm), rank_(rank), tag_(tag), block_(std::make_unique<Operation>(kBlockBytes)) {
    block_->receive(comm, rank, tag);
  }

  // Must be called until it is true.
  bool is_done() {
    if (block_ && block_->is_done()) {
      internal::MessageReader reader({block_->bytes().data(), kBlockBytes});
      const auto length = static_cast<size_t>(reader.number());
      message_ = reader.rest().substr(0, length);
      block_.reset();
      if (length > message_.size()) {
        rest_ = std::make_unique<Operation>(length - message_.size());
        rest_->receive(comm_, rank_, tag_ + kRestTag);
      }
    }
    if (rest_ && rest_->is_done()) {
      message_.append(rest_->bytes().data(), rest_->bytes().size());
      rest_.reset();
    }
    return !block_ && !rest_;
  }
  // Requires: is_done().
  std::string take() { return std::move(message_); }

 private:
  MPI_Comm comm_;
  int rank_;
  int tag_;
  std::unique_ptr<Operation> block_;  // Until it is received.
  std::unique_ptr<Operation> rest_;
  std::string message_;
};

void wait_for_all(MPI_Request& request, WaitLimit& limit, Clock& clock, const char* activity) {
  BackOff back_off(clock);
  while (true) {
    int done = 0;
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) return;
    if (limit.is_over())
      throw DeadlineExceededError(
          fmt::format("mpi::join: rank {} waited {:.4g} s for the other ranks: {}", world_rank(),
                      limit.waited_secs(), activity));
    back_off.pause();
  }
}

}  // namespace

class MpiGroup::Communicator {
 public:
  Communicator(WaitLimit& limit, Clock& clock) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Comm_idup(MPI_COMM_WORLD, &comm_, &request), "MPI_Comm_idup");
    wait_for_all(request, limit, clock, "not all of them have joined");
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  // Waits for the other ranks, so it is not for a destructor.
  void free() { check(MPI_Comm_free(&comm_), "MPI_Comm_free"); }

  MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

MpiGroup::MpiGroup(double timeout_secs, bool finalizes)
    : Group({.rank = world_rank(),
             .size = world_size(),
             .name = "mpi",
             .timeout_secs = timeout_secs}),
      communicator_([timeout_secs] {
        WaitLimit limit(Clock::real(), timeout_secs);
        return std::make_shared<Communicator>(limit, Clock::real());
      }()),
      finalizes_(finalizes),
      num_exceptions_(std::uncaught_exceptions()) {
  if (size() > 1) start_watch();
}

// The first message of rank 0, which is that of no call.
std::string MpiGroup::share(const std::string& message) {
  WaitLimit limit(clock(), timeout_secs());
  if (is_chief()) {
    if (const std::vector<int> silent = answer_all(0, message, limit); !silent.empty())
      throw silent_error(0, silent, limit);
    return message;
  }
  std::map<int, Receiving> receiving;
  receiving.try_emplace(0, communicator_->get(), 0, kAnswerTag);
  if (const std::vector<int> silent = wait_for(receiving, 0, limit); !silent.empty())
    throw silent_error(0, silent, limit);
  return receiving.at(0).take();
}

void MpiGroup::start_watch() {
  internal::Membership self{
      .job = name(), .rank = rank(), .size = size(), .process = internal::own_process()};
  std::string place;
  if (is_chief()) {
    internal::OpenPlace open = internal::open_place();
    self.nonce = open.place.nonce;
    place = open.place.encode();
    watch_ = std::make_unique<internal::RankWatch>(self, std::move(open.listener));
  }
  const auto found = internal::MeetingPlace::parse(share(place));
  if (is_chief()) return;
  self.nonce = found.nonce;
  try {
    watch_ = internal::reach_watch(self, found.addresses, std::min(kConnectSecs, timeout_secs()));
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
  const internal::Loss end{
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
    communicator_->free();
    if (finalizes_) check(MPI_Finalize(), "MPI_Finalize");
  } catch (const Error& error) {
    log_warning(fmt::format("ending {}: {}", who(), error.what()));
  }
}

std::optional<std::string> MpiGroup::known_failure(int64_t number) const {
  if (!watch_) return std::nullopt;
  std::optional<internal::Loss> loss = watch_->loss(number);
  if (!loss) return std::nullopt;
  if (!loss->answer.empty()) return std::move(loss->answer);
  return failure_answer(RankFailedError(loss->rank, loss->reason), loss->rank);
}

template <typename Transfer>
std::vector<int> MpiGroup::wait_for(std::map<int, Transfer>& transfers, int64_t number,
                                    WaitLimit& limit) {
  BackOff back_off(clock());
  while (true) {
    const bool is_lost = watch_ && watch_->loss(number);
    std::vector<int> waiting;
    for (auto& [rank, transfer] : transfers)
      if (!transfer.is_done()) waiting.push_back(rank);
    if (waiting.empty() || is_lost || limit.is_over()) return waiting;
    if (watch_ && is_chief() && number > 0 &&
        limit.waited_secs() > std::min(kReportSecs, timeout_secs() / 4))
      watch_->set_missing(number, waiting);
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

std::string MpiGroup::exchange(int64_t number, const std::string& message, WaitLimit& limit,
                               const Combine& combine) {
  if (is_chief()) return collect(number, message, limit, combine);
  const Sending sending(communicator_->get(), 0, kMessageTag, message);
  std::map<int, Receiving> answer;
  answer.try_emplace(0, communicator_->get(), 0, kAnswerTag);
  const std::vector<int> silent = wait_for(answer, number, limit);
  if (silent.empty()) return answer.at(0).take();
  if (std::optional<std::string> lost = known_failure(number)) return *std::move(lost);
  throw silent_error(number, silent, limit);
}

std::string MpiGroup::collect(int64_t number, const std::string& message, WaitLimit& limit,
                              const Combine& combine) {
  std::map<int, Receiving> others;
  for (int rank = 1; rank < size(); ++rank)
    others.try_emplace(rank, communicator_->get(), rank, kMessageTag);
  if (const std::vector<int> silent = wait_for(others, number, limit); !silent.empty()) {
    if (std::optional<std::string> lost = known_failure(number)) return *std::move(lost);
    throw silent_error(number, silent, limit);
  }
  if (watch_) watch_->set_answered(number);
  std::vector<std::string> messages = {message};
  for (auto& [rank, other] : others) messages.push_back(other.take());
  std::string answer = combine(messages);
  if (const std::vector<int> silent = answer_all(number + 1, answer, limit);
      !silent.empty() && !known_failure(number + 1))
    throw silent_error(number, silent, limit);
  return answer;
}

// A rank that is lost before call `number` needs no answer.
std::vector<int> MpiGroup::answer_all(int64_t number, const std::string& answer, WaitLimit& limit) {
  std::map<int, Sending> answers;
  for (int rank = 1; rank < size(); ++rank)
    answers.try_emplace(rank, communicator_->get(), rank, kAnswerTag, answer);
  return wait_for(answers, number, limit);
}

void MpiGroup::send_failure(int64_t number, const std::string& message, const std::string& answer) {
  if (watch_)
    watch_->tell({.from_call = number, .rank = rank(), .reason = "left", .answer = answer});
  WaitLimit limit(clock(), kFailureSecs);
  if (is_chief()) {
    answer_all(std::numeric_limits<int64_t>::min(), answer, limit);
    return;
  }
  std::map<int, Sending> sending;
  sending.try_emplace(0, communicator_->get(), 0, kMessageTag, message);
  wait_for(sending, std::numeric_limits<int64_t>::min(), limit);
}

}  // namespace crochet::inline v0::mpi
