// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/group/internal/rank_watch.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/group/internal/message_bytes.h"

namespace crochet::inline v0::internal {
namespace {

enum class Notice : int64_t { kLoss, kMissing };

// Newcomers that send nothing are forgotten at intervals.
constexpr int kPollMillis = 10'000;
constexpr int kNoMemoryMillis = 100;

std::string encode(const Loss& loss) {
  return MessageWriter()
      .number(static_cast<int64_t>(Notice::kLoss))
      .number(loss.from_call)
      .number(loss.rank)
      .number(loss.is_end ? 1 : 0)
      .text(loss.reason)
      .text(loss.answer)
      .take();
}

Loss read_loss(MessageReader& reader) {
  Loss loss;
  loss.from_call = reader.number();
  loss.rank = static_cast<int>(reader.number());
  loss.is_end = reader.number() != 0;
  loss.reason = reader.text();
  loss.answer = reader.text();
  return loss;
}

int make_event() { return ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

}  // namespace

RankWatch::RankWatch(Membership self, Socket listener)
    : self_(std::move(self)), event_fd_(make_event()), wake_fd_(make_event()) {
  greeter_ = std::make_unique<Greeter>(
      self_, std::move(listener), [this](const Greeting& greeting) { return is_free(greeting); },
      [this](const Greeting& greeting, Line line) { join(greeting, std::move(line)); });
  start();
}

RankWatch::RankWatch(Membership self, const Membership& chief, Line to_chief)
    : self_(std::move(self)), event_fd_(make_event()), wake_fd_(make_event()) {
  expect_signs_of_life(to_chief.fd());
  peers_.emplace(0, Peer{.member = chief, .line = std::move(to_chief)});
  start();
}

void RankWatch::start() {
  thread_ = Thread("crochet group", [this] { work(); });
}

RankWatch::~RankWatch() {
  if (owner_.is_here()) {
    wait_for_others();
    signal(wake_fd_);
    thread_.join();
  }
  ::close(event_fd_);
  ::close(wake_fd_);
}

void RankWatch::wait_for_others() {
  std::unique_lock lock(mutex_);
  WaitLimit limit(Clock::real(), linger_secs_);
  while (greeter_ && !are_others_gone() && !limit.is_over()) changed_.wait_for(lock, limit.pause());
  is_stopped_ = true;
}

void RankWatch::signal(int fd) {
  const uint64_t one = 1;
  static_cast<void>(::write(fd, &one, sizeof(one)) == 0);
}

void RankWatch::clear(int fd) const {
  uint64_t count = 0;
  static_cast<void>(::read(fd, &count, sizeof(count)) == 0);
}

void RankWatch::clear_event() const { clear(event_fd_); }

void RankWatch::work() {
  while (true) {
    try {
      std::vector<pollfd> waited = events();
      ::poll(waited.data(), waited.size(), greeter_ ? kPollMillis : -1);
      clear(wake_fd_);
      std::unique_lock lock(mutex_);
      if (is_stopped_) return;
      look();
      const std::string warning = std::exchange(warning_, "");
      lock.unlock();
      if (!warning.empty()) log_warning(warning);
    } catch (const std::exception&) {  // No memory: perhaps a little later.
      ::poll(nullptr, 0, kNoMemoryMillis);
    }
  }
}

void RankWatch::look() {
  for (auto& [rank, peer] : peers_)
    if (!peer.is_gone) look_at(rank, peer);
  if (greeter_) greeter_->look();
}

std::vector<pollfd> RankWatch::events() const {
  const std::lock_guard lock(mutex_);
  std::vector<pollfd> events = {{.fd = wake_fd_, .events = POLLIN, .revents = 0}};
  if (greeter_) greeter_->add_events(events);
  for (const auto& [rank, peer] : peers_)
    if (!peer.is_gone)
      events.push_back({.fd = peer.line.fd(), .events = peer.line.events(), .revents = 0});
  return events;
}

bool RankWatch::is_free(const Greeting& greeting) const {
  return greeting.purpose == Purpose::kMessages ? !had_messages_.contains(greeting.member.rank)
                                                : !peers_.contains(greeting.member.rank);
}

void RankWatch::join(const Greeting& greeting, Line line) {
  const int rank = greeting.member.rank;
  if (greeting.purpose == Purpose::kMessages) {
    had_messages_.insert(rank);
    messages_.emplace(rank, std::move(line));
    signal(event_fd_);
    return;
  }
  expect_signs_of_life(line.fd());
  Peer& peer =
      peers_.emplace(rank, Peer{.member = greeting.member, .line = std::move(line)}).first->second;
  if (loss_) peer.line.send(encode(*loss_));
}

void RankWatch::look_at(int rank, Peer& peer) {
  try {
    peer.line.flush();
    while (const std::optional<std::string> message = peer.line.take()) receive(rank, *message);
    if (!peer.line.is_open()) end_of(rank, peer, "");
  } catch (const Error& error) {
    end_of(rank, peer, error.what());
  }
}

void RankWatch::receive(int rank, const std::string& message) {
  MessageReader reader(message);
  if (static_cast<Notice>(reader.number()) == Notice::kLoss) {
    lose(read_loss(reader), rank);
    return;
  }
  waiting_call_ = reader.number();
  missing_.clear();
  while (!reader.rest().empty()) missing_.push_back(static_cast<int>(reader.number()));
}

void RankWatch::end_of(int rank, Peer& peer, const std::string& error) {
  peer.is_gone = true;
  changed_.notify_all();
  const bool is_silent = !error.empty() && !error.starts_with("Connection reset");
  lose({.from_call = greeter_ ? answered_ + 1 : 0,
        .rank = rank,
        .reason = is_silent ? fmt::format("{} is lost: its host, or the network to it, gives no "
                                          "sign of life ({})",
                                          peer.member.who(), error)
                            : fmt::format("{} is lost: its process has ended without leaving the "
                                          "group",
                                          peer.member.who())},
       rank);
}

void RankWatch::lose(const Loss& loss, int source) {
  if (loss_) return;
  loss_ = loss;
  if (!loss.is_end && loss.answer.empty())
    warning_ = fmt::format("group {}: {}", self_.job, loss.reason);
  send_all(encode(loss), source);
  changed_.notify_all();
  signal(event_fd_);
}

void RankWatch::send_all(const std::string& message, int except) noexcept {
  for (auto& [rank, peer] : peers_) {
    if (peer.is_gone || rank == except) continue;
    try {
      peer.line.send(message);
    } catch (const std::exception&) {
      // The thread finds out.
    }
  }
}

bool RankWatch::are_others_gone() const {
  return static_cast<int>(peers_.size()) == self_.size - 1 &&
         std::ranges::all_of(peers_, [](const auto& each) { return each.second.is_gone; });
}

std::optional<Loss> RankWatch::loss(int64_t call) const {
  const std::lock_guard lock(mutex_);
  return loss_ && call >= loss_->from_call ? loss_ : std::nullopt;
}

bool RankWatch::has_loss() const {
  const std::lock_guard lock(mutex_);
  return loss_.has_value();
}

void RankWatch::tell(const Loss& loss) noexcept {
  if (!owner_.is_here()) return;
  const std::lock_guard lock(mutex_);
  try {
    lose(loss, self_.rank);
  } catch (const std::exception&) {
    // No memory: the others notice the end of this process.
  }
  signal(wake_fd_);  // It sends what did not fit.
}

void RankWatch::set_answered(int64_t call) {
  const std::lock_guard lock(mutex_);
  answered_ = call;
}

void RankWatch::set_missing(int64_t call, const std::vector<int>& missing) noexcept {
  const std::lock_guard lock(mutex_);
  if (waiting_call_ == call && missing_ == missing) return;
  try {
    MessageWriter writer;
    writer.number(static_cast<int64_t>(Notice::kMissing)).number(call);
    for (const int rank : missing) writer.number(rank);
    missing_ = missing;
    waiting_call_ = call;
    send_all(writer.take(), self_.rank);
  } catch (const std::bad_alloc&) {
    // No memory: the next call tries again.
  }
}

std::optional<std::vector<int>> RankWatch::missing(int64_t call) const {
  const std::lock_guard lock(mutex_);
  return waiting_call_ == call ? std::optional(missing_) : std::nullopt;
}

void RankWatch::set_linger(double secs) {
  const std::lock_guard lock(mutex_);
  linger_secs_ = secs;
}

std::optional<Line> RankWatch::take_messages(int rank) {
  const std::lock_guard lock(mutex_);
  const auto found = messages_.find(rank);
  if (found == messages_.end()) return std::nullopt;
  std::optional<Line> line(std::move(found->second));
  messages_.erase(found);
  return line;
}

}  // namespace crochet::inline v0::internal
