// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/group/internal/socket_group.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/log_lazily.h"

namespace crochet::inline v0::internal {
namespace {

// How long rank 0 of a group that is lost stays for others that learn why.
constexpr double kLostSecs = 5;
// The end of a line, and what the watch says of it, arrive at about the same time.
constexpr double kVerdictSecs = 1;
// A rank that has waited for so long is notified for whom.
constexpr double kReportSecs = 0.5;

int milliseconds(Clock::Duration duration) {
  return std::max(1, static_cast<int>(duration / std::chrono::milliseconds(1)));
}

}  // namespace

SocketGroup::SocketGroup(std::unique_ptr<RankWatch> watch, const GroupOptions& options)
    : Group(options), watch_(std::move(watch)), num_exceptions_(std::uncaught_exceptions()) {}

SocketGroup::SocketGroup(std::unique_ptr<RankWatch> watch, Line to_chief, std::string where,
                         const GroupOptions& options)
    : Group(options),
      watch_(std::move(watch)),
      where_(std::move(where)),
      num_exceptions_(std::uncaught_exceptions()) {
  lines_.emplace(0, std::move(to_chief));
}

SocketGroup::~SocketGroup() {
  if (std::uncaught_exceptions() > num_exceptions_) leave("an exception ended its program");
  try_or_log(
      [] { return "ending a group"; },
      [this] {
        watch_->tell({.from_call = next_call(),
                      .rank = rank(),
                      .reason = fmt::format("rank {} of {} has ended its group before call {}",
                                            rank(), size(), next_call()),
                      .is_end = true});
      });
  watch_->set_linger(is_lost() ? std::min(kLostSecs, timeout_secs()) : timeout_secs());
}

std::optional<std::string> SocketGroup::known_failure(int64_t number) const {
  const std::optional<Loss> loss = watch_->loss(number);
  return loss && !loss->is_end ? std::optional(lost_answer(*loss)) : std::nullopt;
}

std::string SocketGroup::lost_answer(const Loss& loss) const {
  return loss.answer.empty() ? failure_answer(RankFailedError(loss.rank, loss.reason), loss.rank)
                             : loss.answer;
}

std::string SocketGroup::exchange(int64_t number, const std::string& message, WaitLimit& limit,
                                  const Combine& combine) {
  if (is_chief()) return collect(number, message, limit, combine);
  std::string end;
  try {
    return ask_chief(number, message, limit);
  } catch (const UnavailableError& error) {
    end = error.what();
  }
  return ended_answer(number, 0, end);
}

std::string SocketGroup::ask_chief(int64_t number, const std::string& message, WaitLimit& limit) {
  Line& line = lines_.at(0);
  line.send(message);
  while (true) {
    const std::optional<Loss> loss = watch_->loss(number);
    // What rank 0 sent before it was lost has arrived.
    if (std::optional<std::string> answer = line.take()) return *std::move(answer);
    if (loss) return lost_answer(*loss);
    if (!line.is_open()) throw UnavailableError("rank 0 has ended it");
    if (limit.is_over()) throw silent_chief_error(number, limit);
    wait(limit);
    line.flush();
  }
}

DeadlineExceededError SocketGroup::silent_chief_error(int64_t number,
                                                      const WaitLimit& limit) const {
  // Rank 0 may itself wait for another one.
  if (const auto missing = watch_->missing(number); missing && !missing->empty())
    return missing_error(number, *missing, limit.waited_secs());
  return missing_error(number, {0}, limit.waited_secs(), " (rank 0 is at " + where_ + ")");
}

void SocketGroup::wait(const WaitLimit& limit) {
  std::vector<pollfd> events = {{.fd = watch_->event_fd(), .events = POLLIN, .revents = 0}};
  for (const auto& [rank, line] : lines_)
    if (line.is_open()) events.push_back({.fd = line.fd(), .events = line.events(), .revents = 0});
  ::poll(events.data(), events.size(), milliseconds(limit.pause()));
  if (events.front().revents != 0) watch_->clear_event();
}

std::string SocketGroup::ended_answer(int64_t number, int rank, const std::string& error) {
  WaitLimit limit(Clock::real(), kVerdictSecs);
  while (true) {
    if (const std::optional<Loss> loss = watch_->loss(number)) return lost_answer(*loss);
    if (limit.is_over()) break;
    pollfd event = {.fd = watch_->event_fd(), .events = POLLIN, .revents = 0};
    if (::poll(&event, 1, milliseconds(limit.pause())) > 0) watch_->clear_event();
  }
  throw UnavailableError(
      fmt::format("group {}: the line of rank {} to rank {}{} is lost in call {}: {}", name(),
                  this->rank(), rank, rank == 0 ? " at " + where_ : "", number, error));
}

// The messages that rank 0 waits for in a call.
class SocketGroup::Gathering {
 public:
  Gathering(SocketGroup& group, const std::string& own)
      : group_(group), messages_(static_cast<size_t>(group.size())) {
    messages_.front() = own;
  }

  // Takes what has arrived. Returns the rank whose line has ended, or -1.
  int look() {
    missing_.clear();
    for (int rank = 1; rank < group_.size(); ++rank) {
      std::optional<std::string>& message = messages_[static_cast<size_t>(rank)];
      if (message) continue;
      Line* const line = line_of(rank);
      if (line != nullptr) message = take(rank, *line);
      if (!error_.empty()) return rank;
      if (!message) missing_.push_back(rank);
    }
    return -1;
  }
  const std::vector<int>& missing() const { return missing_; }
  const std::string& error() const { return error_; }
  std::vector<std::string> take_all() {
    std::vector<std::string> all;
    for (std::optional<std::string>& message : messages_) all.push_back(*std::move(message));
    return all;
  }

 private:
  Line* line_of(int rank) {
    auto found = group_.lines_.find(rank);
    if (found == group_.lines_.end()) {
      std::optional<Line> joined = group_.watch_->take_messages(rank);
      if (!joined) return nullptr;
      found = group_.lines_.emplace(rank, *std::move(joined)).first;
    }
    return &found->second;
  }
  std::optional<std::string> take(int rank, Line& line) {
    try {
      std::optional<std::string> message = line.take();
      if (!message && !line.is_open()) error_ = fmt::format("rank {} has ended it", rank);
      return message;
    } catch (const UnavailableError& error) {
      error_ = error.what();
      return std::nullopt;
    }
  }

  SocketGroup& group_;
  std::vector<std::optional<std::string>> messages_;
  std::vector<int> missing_;
  std::string error_;
};

std::string SocketGroup::collect(int64_t number, const std::string& message, WaitLimit& limit,
                                 const Combine& combine) {
  Gathering gathering(*this, message);
  while (true) {
    const std::optional<Loss> loss = watch_->loss(number);
    const int ended = gathering.look();
    if (ended >= 0) return ended_answer(number, ended, gathering.error());
    if (gathering.missing().empty()) break;
    if (loss) return lost_answer(*loss);
    if (limit.is_over()) {
      const DeadlineExceededError error =
          missing_error(number, gathering.missing(), limit.waited_secs());
      try_to_answer(failure_answer(error));
      throw error;
    }
    if (limit.waited_secs() > std::min(kReportSecs, timeout_secs() / 4))
      watch_->set_missing(number, gathering.missing());
    wait(limit);
  }
  watch_->set_answered(number);
  std::string answer = combine(gathering.take_all());
  answer_all(number, answer, limit);
  return answer;
}

void SocketGroup::answer_all(int64_t number, const std::string& answer, WaitLimit& limit) {
  try_to_answer(answer);
  while (true) {
    std::vector<int> missing;
    for (auto& [rank, line] : lines_) {
      try {
        if (!line.flush()) missing.push_back(rank);
      } catch (const UnavailableError&) {
        // The next call finds out.
      }
    }
    if (missing.empty() || watch_->loss(number + 1)) return;
    if (limit.is_over()) throw missing_error(number, missing, limit.waited_secs());
    wait(limit);
  }
}

void SocketGroup::try_to_answer(const std::string& answer) noexcept {
  for (auto& [rank, line] : lines_) {
    try {
      line.send(answer);
    } catch (const std::exception&) {
      // The next call finds out.
    }
  }
}

void SocketGroup::send_failure(int64_t number, const std::string&, const std::string& answer) {
  watch_->tell({.from_call = number, .rank = rank(), .reason = "left", .answer = answer});
}

}  // namespace crochet::inline v0::internal
