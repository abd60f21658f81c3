// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/group/internal/greeter.h"

#include <exception>
#include <limits>
#include <utility>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

constexpr uint64_t kLongestGreeting = 16384;
// More that have not confirmed are strangers: the oldest make room.
constexpr size_t kMostNewcomers = 4096;
constexpr std::chrono::seconds kPatience(60);

}  // namespace

Greeter::Greeter(Membership self, Socket listener, IsFree is_free, Join join)
    : self_(std::move(self)),
      listener_(std::move(listener)),
      is_free_(std::move(is_free)),
      join_(std::move(join)) {}

void Greeter::add_events(std::vector<pollfd>& events) const {
  events.push_back({.fd = listener_.fd(), .events = POLLIN, .revents = 0});
  for (const Newcomer& newcomer : newcomers_)
    events.push_back({.fd = newcomer.line.fd(), .events = newcomer.line.events(), .revents = 0});
}

void Greeter::look() {
  accept_all();
  std::erase_if(newcomers_, [this](Newcomer& newcomer) { return !attend(newcomer); });
}

void Greeter::accept_all() {
  const auto now = std::chrono::steady_clock::now();
  while (Socket socket = accept_from(listener_)) {
    newcomers_.push_back({.line = Line(std::move(socket)), .came = now});
    newcomers_.back().line.accept_up_to(kLongestGreeting);
  }
  while (!newcomers_.empty() &&
         (newcomers_.size() > kMostNewcomers || now - newcomers_.front().came > kPatience))
    newcomers_.pop_front();
}

bool Greeter::attend(Newcomer& newcomer) {
  try {
    newcomer.line.flush();
    const std::optional<std::string> message = newcomer.line.take();
    if (!message) return newcomer.line.is_open();
    if (!newcomer.greeting) return reply(newcomer, Greeting::parse(*message));
    if (!is_free_(*newcomer.greeting)) return false;
    newcomer.line.accept_up_to(std::numeric_limits<int64_t>::max());
    join_(*newcomer.greeting, std::move(newcomer.line));
  } catch (const std::exception&) {
    // It is not a rank.
  }
  return false;
}

// A rank that is refused reads this and then ends the connection.
bool Greeter::reply(Newcomer& newcomer, Greeting greeting) {
  Reply reply{.verdict = judge(greeting.member, self_), .chief = self_};
  if (reply.verdict == Verdict::kWelcome && !is_free_(greeting)) reply.verdict = Verdict::kTaken;
  newcomer.line.send(reply.encode());
  if (reply.verdict == Verdict::kWelcome && greeting.purpose != Purpose::kQuestion)
    newcomer.greeting = std::move(greeting);
  return true;
}

}  // namespace crochet::inline v0::internal
