// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/mpi/internal/transfers.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/group/internal/message_bytes.h"

namespace crochet::inline v0::mpi::internal {
namespace {

using crochet::internal::MessageReader;
using crochet::internal::MessageWriter;

// The first part of each message and answer, with the length of all of it: the receiver knows no
// length before.
constexpr size_t kBlockBytes = 1024;
constexpr size_t kFirstBytes = kBlockBytes - sizeof(int64_t);

constexpr int kMessageTag = 1;
// Of what does not fit into the block.
constexpr int kRestTag = 2;

std::string first_block(std::string_view message) {
  return MessageWriter()
      .number(static_cast<int64_t>(message.size()))
      .rest(message.substr(0, kFirstBytes))
      .take();
}

// Memory that begins with these bytes.
std::unique_ptr<BytesRequest> request_with(std::string_view bytes, size_t length) {
  auto memory = std::make_unique<std::vector<char>>(length);
  std::ranges::copy(bytes, memory->begin());
  return std::make_unique<BytesRequest>(std::move(memory));
}

std::string_view text_in(const BytesRequest& request) {
  return {request.memory().data(), request.memory().size()};
}

bool are_done(const std::vector<std::unique_ptr<BytesRequest>>& requests) {
  return std::ranges::all_of(requests, [](const auto& each) { return each->is_done(); });
}

}  // namespace

void check(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text = {};
  int length = 0;
  MPI_Error_string(result, text.data(), &length);
  throw UnavailableError(fmt::format("{}: {}", call, text.data()));
}

Reduction::Reduction(MPI_Comm comm, int64_t call, int64_t number)
    : request_(std::make_unique<Numbers>(Numbers{{call, ~call, number, ~number}, {}})) {
  Numbers& numbers = request_.memory();
  check(MPI_Iallreduce(numbers.own.data(), numbers.largest.data(),
                       static_cast<int>(numbers.own.size()), MPI_INT64_T, MPI_MAX, comm,
                       request_.get()),
        "MPI_Iallreduce");
}

Broadcast::Broadcast(MPI_Comm comm) : comm_(comm), is_length_known_(false) {
  start("", kBlockBytes);
}

Broadcast::Broadcast(MPI_Comm comm, std::string_view answer) : comm_(comm), is_length_known_(true) {
  start(first_block(answer), kBlockBytes);
  if (answer.size() > kFirstBytes) start(answer.substr(kFirstBytes), answer.size() - kFirstBytes);
}

void Broadcast::start(std::string_view bytes, size_t length) {
  requests_.push_back(request_with(bytes, length));
  BytesRequest& request = *requests_.back();
  check(MPI_Ibcast(request.memory().data(), static_cast<int>(length), MPI_BYTE, 0, comm_,
                   request.get()),
        "MPI_Ibcast");
}

bool Broadcast::is_done() {
  if (!are_done(requests_)) return false;
  if (std::exchange(is_length_known_, true)) return true;
  const auto length = static_cast<size_t>(MessageReader(text_in(*requests_.front())).number());
  if (length <= kFirstBytes) return true;
  start("", length - kFirstBytes);
  return requests_.back()->is_done();
}

std::string Broadcast::take() const {
  MessageReader reader(text_in(*requests_.front()));
  const auto length = static_cast<size_t>(reader.number());
  std::string answer(reader.rest().substr(0, length));
  if (requests_.size() > 1) answer += text_in(*requests_.back());
  return answer;
}

Sending::Sending(MPI_Comm comm, int64_t call, std::string_view message) {
  const std::string numbered = MessageWriter().number(call).rest(message).take();
  const std::string_view all = numbered;
  start(comm, kMessageTag, first_block(all), kBlockBytes);
  if (all.size() > kFirstBytes)
    start(comm, kRestTag, all.substr(kFirstBytes), all.size() - kFirstBytes);
}

void Sending::start(MPI_Comm comm, int tag, std::string_view bytes, size_t length) {
  requests_.push_back(request_with(bytes, length));
  BytesRequest& request = *requests_.back();
  check(MPI_Isend(request.memory().data(), static_cast<int>(length), MPI_BYTE, 0, tag, comm,
                  request.get()),
        "MPI_Isend");
}

bool Sending::is_done() { return are_done(requests_); }

std::unique_ptr<BytesRequest> Inbox::begin(int rank, int tag, size_t length) const {
  auto request = request_with("", length);
  check(MPI_Irecv(request->memory().data(), static_cast<int>(length), MPI_BYTE, rank, tag, comm_,
                  request->get()),
        "MPI_Irecv");
  return request;
}

bool Inbox::receive(int rank, Slot& slot) {
  if (slot.is_here) return true;
  if (!slot.block) slot.block = begin(rank, kMessageTag, kBlockBytes);
  if (!slot.rest) {
    if (!slot.block->is_done()) return false;
    MessageReader reader(text_in(*slot.block));
    const auto length = static_cast<size_t>(reader.number());
    slot.message = reader.rest().substr(0, length);
    if (length <= kFirstBytes) return slot.is_here = true;
    slot.rest = begin(rank, kRestTag, length - kFirstBytes);
  }
  if (!slot.rest->is_done()) return false;
  slot.message += text_in(*slot.rest);
  return slot.is_here = true;
}

bool Inbox::has(int rank, int64_t call) {
  Slot& slot = slots_[static_cast<size_t>(rank)];
  while (receive(rank, slot)) {
    if (MessageReader(slot.message).number() >= call) return true;
    slot = {};
  }
  return false;
}

std::string Inbox::take(int rank) {
  Slot& slot = slots_[static_cast<size_t>(rank)];
  MessageReader reader(slot.message);
  reader.number();
  std::string message(reader.rest());
  slot = {};
  return message;
}

void Inbox::close() {
  for (Slot& slot : slots_)
    for (BytesRequest* const each : {slot.block.get(), slot.rest.get()})
      if (each != nullptr) each->cancel();
}

}  // namespace crochet::inline v0::mpi::internal
