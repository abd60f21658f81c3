// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mpi.h>

// What is under way in MPI, for MpiGroup. Nothing here waits. What is not complete at its end
// leaves its memory to MPI, which may still use it. All throw an UnavailableError for an error of
// MPI's.
namespace crochet::inline v0::mpi::internal {

// Throws: UnavailableError with the text of an error of MPI's.
void check(int result, const char* call);

// A request, with the memory that MPI uses for it.
template <typename Memory>
class Request {
 public:
  explicit Request(std::unique_ptr<Memory> memory) : memory_(std::move(memory)) {}
  ~Request() {
    if (request_ != MPI_REQUEST_NULL) static_cast<void>(memory_.release());
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  Memory& memory() { return *memory_; }
  const Memory& memory() const { return *memory_; }
  MPI_Request* get() { return &request_; }
  bool is_done() {
    int done = 1;
    if (request_ != MPI_REQUEST_NULL)
      check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  }
  // Requires: it receives. Waits for no other rank.
  void cancel() {
    if (request_ == MPI_REQUEST_NULL) return;
    check(MPI_Cancel(&request_), "MPI_Cancel");
    check(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait");
  }

 private:
  std::unique_ptr<Memory> memory_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};
using BytesRequest = Request<std::vector<char>>;

// What each rank learns of a call at once: whether all make the same one, and the smallest and
// the largest number.
class Reduction {
 public:
  // `call` is not negative, and equal in ranks that make the same call.
  Reduction(MPI_Comm comm, int64_t call, int64_t number);

  bool is_done() { return request_.is_done(); }
  // Once it is done.
  bool is_same_call() const {
    return request_.memory().largest[0] == ~request_.memory().largest[1];
  }
  int64_t smallest() const { return ~request_.memory().largest[3]; }
  int64_t largest() const { return request_.memory().largest[2]; }

 private:
  struct Numbers {
    std::array<int64_t, 4> own;
    std::array<int64_t, 4> largest;
  };

  Request<Numbers> request_;
};

// An answer of rank 0.
class Broadcast {
 public:
  explicit Broadcast(MPI_Comm comm);
  // In rank 0.
  Broadcast(MPI_Comm comm, std::string_view answer);

  // Must be called until it is true.
  bool is_done();
  // In the others, once it is done.
  std::string take() const;

 private:
  void start(std::string_view bytes, size_t length);

  MPI_Comm comm_;
  std::vector<std::unique_ptr<BytesRequest>> requests_;  // The first block, and the rest.
  bool is_length_known_;
};

// The message of a call, on its way to rank 0.
class Sending {
 public:
  Sending(MPI_Comm comm, int64_t call, std::string_view message);

  bool is_done();

 private:
  void start(MPI_Comm comm, int tag, std::string_view bytes, size_t length);

  std::vector<std::unique_ptr<BytesRequest>> requests_;
};

// The messages that arrive at rank 0. Those of earlier calls, which were sent because a call took
// long, are dropped.
class Inbox {
 public:
  Inbox(MPI_Comm comm, int size) : comm_(comm), slots_(static_cast<size_t>(size)) {}

  // True if the message of this rank for a call is here.
  bool has(int rank, int64_t call);
  // Requires: has().
  std::string take(int rank);
  // Nothing more is expected.
  void close();

 private:
  struct Slot {
    std::unique_ptr<BytesRequest> block;
    std::unique_ptr<BytesRequest> rest;
    std::string message;
    bool is_here = false;
  };

  bool receive(int rank, Slot& slot);
  std::unique_ptr<BytesRequest> begin(int rank, int tag, size_t length) const;

  MPI_Comm comm_;
  std::vector<Slot> slots_;
};

}  // namespace crochet::inline v0::mpi::internal
