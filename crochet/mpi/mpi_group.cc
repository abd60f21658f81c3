// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/mpi/mpi_group.h"

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
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
constexpr std::chrono::seconds kFailureLimit(1);

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

// Returns the indices of those that are not done at the deadline.
template <typename Transfers>
std::vector<int> wait_for(Transfers& transfers, Clock& clock, Clock::TimePoint deadline) {
  BackOff back_off(clock);
  while (true) {
    std::vector<int> waiting;
    for (size_t i = 0; i < transfers.size(); ++i)
      if (!transfers[i]->is_done()) waiting.push_back(static_cast<int>(i));
    if (waiting.empty() || clock.now() >= deadline) return waiting;
    back_off.pause();
  }
}

}  // namespace

class MpiGroup::Communicator {
 public:
  Communicator() {
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
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
      communicator_(std::make_shared<Communicator>()),
      finalizes_(finalizes),
      num_exceptions_(std::uncaught_exceptions()) {}

MpiGroup::~MpiGroup() {
  // Others that wait in vain find out at their deadlines; waiting for them here has none.
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);  // By the program.
  if (is_finalized != 0 || is_lost()) return;
  if (std::uncaught_exceptions() > num_exceptions_) {
    leave("an exception ended its program");
    return;
  }
  try {
    communicator_->free();
    if (finalizes_) check(MPI_Finalize(), "MPI_Finalize");
  } catch (const Error& error) {
    log_warning(fmt::format("ending {}: {}", who(), error.what()));
  }
}

std::string MpiGroup::exchange(int64_t number, const std::string& message,
                               Clock::TimePoint deadline, const Combine& combine) {
  if (is_chief()) return collect(number, message, deadline, combine);
  const Clock::TimePoint start = clock().now();
  Sending sending(communicator_->get(), 0, kMessageTag, message);
  std::array<std::unique_ptr<Receiving>, 1> answer = {
      std::make_unique<Receiving>(communicator_->get(), 0, kAnswerTag)};
  // Rank 0 has the same deadline, and says then who is missing.
  const Clock::Duration grace =
      std::min<Clock::Duration>((deadline - start) / 4, std::chrono::seconds(2));
  if (!wait_for(answer, clock(), deadline + grace).empty())
    throw missing_error(number, {0}, to_seconds(clock().now() - start));
  return answer.front()->take();
}

std::string MpiGroup::collect(int64_t number, const std::string& message, Clock::TimePoint deadline,
                              const Combine& combine) {
  const Clock::TimePoint start = clock().now();
  const auto check_none = [&](std::vector<int> missing) {
    if (missing.empty()) return;
    for (int& rank : missing) ++rank;  // The others are counted from rank 1.
    throw missing_error(number, missing, to_seconds(clock().now() - start));
  };
  std::vector<std::unique_ptr<Receiving>> others;
  for (int rank = 1; rank < size(); ++rank)
    others.push_back(std::make_unique<Receiving>(communicator_->get(), rank, kMessageTag));
  check_none(wait_for(others, clock(), deadline));
  std::vector<std::string> messages = {message};
  for (const auto& other : others) messages.push_back(other->take());
  std::string answer = combine(messages);
  check_none(answer_all(answer, deadline));
  return answer;
}

std::vector<int> MpiGroup::answer_all(const std::string& answer, Clock::TimePoint deadline) {
  std::vector<std::unique_ptr<Sending>> answers;
  for (int rank = 1; rank < size(); ++rank)
    answers.push_back(std::make_unique<Sending>(communicator_->get(), rank, kAnswerTag, answer));
  return wait_for(answers, clock(), deadline);
}

void MpiGroup::send_failure(int64_t, const std::string& message, const std::string& answer) {
  const Clock::TimePoint deadline = clock().now() + kFailureLimit;
  if (is_chief()) {
    answer_all(answer, deadline);
    return;
  }
  std::array<std::unique_ptr<Sending>, 1> sending = {
      std::make_unique<Sending>(communicator_->get(), 0, kMessageTag, message)};
  wait_for(sending, clock(), deadline);
}

}  // namespace crochet::inline v0::mpi
