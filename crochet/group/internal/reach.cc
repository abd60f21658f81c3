// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/group/internal/reach.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

// For one of several addresses, of which some may lead nowhere.
constexpr double kAttemptSecs = 2;
// An attempt that is made as the whole limit ends: what an earlier one found is the reason.
constexpr double kNoTimeSecs = 0.1;
// For the question who has the port.
constexpr double kQuestionSecs = 2;
// The first message of another program may have any length.
constexpr uint64_t kLongestReply = 16384;

std::string wait_for_message(Line& line, WaitLimit& limit) {
  while (true) {
    if (std::optional<std::string> message = line.take()) return *std::move(message);
    if (!line.is_open()) throw UnavailableError("the connection was ended there");
    if (limit.is_over()) throw UnavailableError("no answer");
    pollfd event = {.fd = line.fd(), .events = line.events(), .revents = 0};
    ::poll(&event, 1, std::max(1, static_cast<int>(limit.pause() / std::chrono::milliseconds(1))));
    line.flush();
  }
}

struct Answer {
  Line line;
  Reply reply;
};

Answer ask(const Membership& self, const Address& address, Purpose purpose, WaitLimit& limit) {
  Line line(connect_to(address, limit));
  line.accept_up_to(kLongestReply);
  line.send(Greeting{.member = self, .purpose = purpose}.encode());
  Reply reply = Reply::parse(wait_for_message(line, limit));
  return {.line = std::move(line), .reply = std::move(reply)};
}

// An older generation of the same job is about to end.
bool may_end_soon(const Membership& self, const Reply& reply) {
  return reply.verdict == Verdict::kOtherGeneration && reply.chief.generation < self.generation;
}

void rest(const WaitLimit& limit) { Clock::real().sleep_for(limit.pause()); }

std::string listed(const std::vector<Address>& addresses) {
  std::vector<std::string> texts;
  for (const Address& address : addresses) texts.push_back(address.text());
  return fmt::format("{}", fmt::join(texts, ", "));
}

class Attempts {
 public:
  Attempts(const Membership& self, const std::vector<Address>& addresses, Purpose purpose)
      : self_(self), addresses_(addresses), purpose_(purpose) {}

  std::optional<Reached> try_all(WaitLimit& limit) {
    for (const Address& address : addresses_) {
      WaitLimit attempt(limit, attempt_secs(limit));
      const bool had_time = to_seconds(attempt.rest()) > kNoTimeSecs;
      try {
        if (std::optional<Reached> reached = try_one(address, attempt)) return reached;
      } catch (const UnavailableError& error) {
        last_error_ = fmt::format("{}: {}", address.text(), error.what());
      } catch (const DeadlineExceededError& error) {
        if (last_error_.empty() || had_time) last_error_ = error.what();
      } catch (const DataLossError&) {
        last_error_ = fmt::format("{}: another program answers there", address.text());
      }
      if (limit.is_over()) break;
    }
    return std::nullopt;
  }
  const std::string& last_error() const { return last_error_; }

 private:
  double attempt_secs(const WaitLimit& limit) const {
    return addresses_.size() > 1 ? kAttemptSecs : to_seconds(limit.rest());
  }

  std::optional<Reached> try_one(const Address& address, WaitLimit& attempt) {
    Answer answer = ask(self_, address, purpose_, attempt);
    if (answer.reply.verdict == Verdict::kWelcome) {
      answer.line.accept_up_to(std::numeric_limits<int64_t>::max());
      answer.line.send("");  // Confirms it: rank 0 may have met an attempt that was abandoned.
      return Reached{.line = std::move(answer.line), .chief = std::move(answer.reply.chief)};
    }
    // One of several addresses may be that of another machine.
    if (!may_end_soon(self_, answer.reply) && addresses_.size() == 1)
      throw_refused(self_, address.text(), answer.reply);
    last_error_ = fmt::format("{} is that of another group", address.text());
    return std::nullopt;
  }

  const Membership& self_;
  const std::vector<Address>& addresses_;
  const Purpose purpose_;
  std::string last_error_;
};

[[noreturn]] void throw_in_use(const Membership& self, const Address& address,
                               const std::optional<Reply>& reply) {
  if (reply) throw_refused(self, address.text(), *reply);
  throw UnavailableError(fmt::format(
      "rank 0 of {}: cannot listen at {}: another program uses the port: set MASTER_PORT to "
      "another one",
      self.size, address.text()));
}

std::optional<Reply> who_is_at(const Membership& self, uint16_t port, WaitLimit& whole) {
  try {
    WaitLimit limit(whole, kQuestionSecs);
    return ask(self, {.host = "localhost", .port = port}, Purpose::kQuestion, limit).reply;
  } catch (const Error&) {
    return std::nullopt;  // No group of crochet.
  }
}

}  // namespace

Reached reach_chief(const Membership& self, const std::vector<Address>& addresses, Purpose purpose,
                    double secs) {
  WaitLimit limit(Clock::real(), secs);
  Attempts attempts(self, addresses, purpose);
  while (true) {
    if (std::optional<Reached> reached = attempts.try_all(limit)) return *std::move(reached);
    if (!limit.is_over()) rest(limit);
    if (limit.is_over())
      throw UnavailableError(
          fmt::format("rank {} of {}: cannot reach rank 0 at {} within {:g} s: {}", self.rank,
                      self.size, listed(addresses), secs, attempts.last_error()));
  }
}

Socket listen_as_chief(const Membership& self, const Address& address, double secs) {
  WaitLimit limit(Clock::real(), secs);
  while (true) {
    if (std::optional<Socket> socket = listen_on(address.port)) return *std::move(socket);
    std::optional<Reply> reply = who_is_at(self, address.port, limit);
    // Rank 0 does not let in another rank 0, but the question is whose port it is.
    if (reply)
      reply->verdict = judge(
          {.job = self.job, .generation = self.generation, .rank = 1, .size = reply->chief.size},
          reply->chief);
    if (!reply || !may_end_soon(self, *reply) || limit.is_over())
      throw_in_use(self, address, reply);
    rest(limit);
  }
}

}  // namespace crochet::inline v0::internal
