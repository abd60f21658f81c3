// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/group/group.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crochet/base/internal/check_number.h"
#include "crochet/base/internal/listed.h"
#include "crochet/base/internal/log_lazily.h"
#include "crochet/group/internal/message_bytes.h"

namespace crochet::inline v0 {
namespace {

using internal::MessageReader;
using internal::MessageWriter;

constexpr size_t kMaxBytes = size_t{1} << 30;
// Of a failure's reason: transports send short messages faster.
constexpr size_t kMaxReasonBytes = 4000;

// The first number of an answer.
constexpr int64_t kAnswerIsResult = 0;
constexpr int64_t kAnswerIsError = 1;

GroupOptions checked(GroupOptions options) {
  internal::check_above("group: size", options.size, 0);
  if (options.rank < 0 || options.rank >= options.size)
    throw InvalidArgumentError(fmt::format("group: rank is {}, expected 0 to {}: its size is {}",
                                           options.rank, options.size - 1, options.size));
  internal::check_above("group: timeout_secs", options.timeout_secs, 0);
  if (options.clock == nullptr) options.clock = &Clock::real();
  return options;
}

}  // namespace

struct Group::Header {
  Kind kind = Kind::kBarrier;
  int64_t root = 0;
  int64_t number = 0;
  int64_t size = 0;
  std::string_view bytes;

  // Throws: DataLossError.
  static Header parse(std::string_view message) {
    MessageReader reader(message);
    Header header;
    header.kind = static_cast<Kind>(reader.number());
    header.root = reader.number();
    header.number = reader.number();
    header.size = reader.number();
    header.bytes = reader.rest();
    return header;
  }
};

// Marks a call as being made.
class Group::InCall {
 public:
  explicit InCall(std::atomic<bool>& flag) : flag_(flag) {
    if (flag.exchange(true))
      throw FailedPreconditionError(
          "group: two calls at the same time: all calls are for one thread");
  }
  ~InCall() { flag_ = false; }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;

 private:
  std::atomic<bool>& flag_;
};

Group::Group(GroupOptions options) : options_(checked(std::move(options))) {}

std::string Group::who() const { return fmt::format("rank {} of {} ({})", rank(), size(), name()); }

const char* Group::name_of(Kind kind) {
  switch (kind) {
    case Kind::kBarrier:
      return "barrier";
    case Kind::kBroadcast:
      return "broadcast";
    case Kind::kGather:
      return "gather";
    case Kind::kAllGather:
      return "all_gather";
    case Kind::kAllDistinct:
      return "all_distinct";
    case Kind::kAllMax:
      return "all_max";
    case Kind::kAllRange:
      return "all_range";
    case Kind::kFailure:
      return "leave";
  }
  return "an unknown call";
}

std::string Group::encode(Kind kind, int root, int64_t number, std::string_view bytes) const {
  return MessageWriter()
      .number(static_cast<int64_t>(kind))
      .number(root)
      .number(number)
      .number(size())
      .rest(bytes)
      .take();
}

Group::MessageView Group::view_of(std::string_view message) {
  const Header header = Header::parse(message);
  MessageView view;
  view.call = message.substr(0, message.size() - header.bytes.size());
  switch (header.kind) {
    case Kind::kBarrier:
      view.has_bytes = false;
      break;
    case Kind::kBroadcast:
      view.sender = static_cast<int>(header.root);
      break;
    case Kind::kAllMax:
    case Kind::kAllRange:
      view.number = MessageReader(header.bytes).number();
      break;
    default:
      break;
  }
  return view;
}

std::string Group::message_like(const MessageView& view, std::string_view bytes) {
  return MessageWriter().rest(view.call).rest(bytes).take();
}

void Group::check_usable() const {
  owner_.check("a group");
  if (error_) std::rethrow_exception(error_);
}

std::string Group::call(Kind kind, int root, std::string_view bytes, Timeout timeout_secs,
                        const Combine& combine_bytes) {
  const InCall in_call(in_call_);
  check_usable();
  if (root < 0 || root >= size())
    throw InvalidArgumentError(
        fmt::format("group: root is {}, expected 0 to {}", root, size() - 1));
  if (bytes.size() > kMaxBytes)
    throw InvalidArgumentError(fmt::format("group: {} of {} bytes, expected at most {}",
                                           name_of(kind), bytes.size(), kMaxBytes));
  const double limit = timeout_secs.value_or(options_.timeout_secs);
  internal::check_above("group: timeout_secs", limit, 0);
  const int64_t number = ++num_calls_;
  WaitLimit wait(clock(), limit);
  std::string answer;
  try {
    answer = exchange(
        number, encode(kind, root, number, bytes), wait,
        [&](const std::vector<std::string>& messages) { return combine(messages, combine_bytes); });
  } catch (const Error& error) {
    error_ = std::current_exception();
    tell(error);
    throw;
  } catch (...) {
    error_ = std::current_exception();
    throw;
  }
  try {
    return open_answer(answer);
  } catch (...) {
    error_ = std::current_exception();
    throw;
  }
}

void Group::tell(const Error& error) noexcept {
  internal::try_or_log([this] { return fmt::format("leaving group {}", name()); },
                       [&] {
                         const int64_t next = next_call();
                         // Ranks that miss the same ones have the same error.
                         const bool is_same_for_all = error.code() == Code::kDeadlineExceeded;
                         const std::string answer =
                             failure_answer(error, is_same_for_all ? -1 : rank());
                         send_failure(next, encode(Kind::kFailure, 0, next, answer), answer);
                       });
}

std::optional<std::string> Group::difference(int rank, const Header& own,
                                             const Header& other) const {
  const auto describe_call = [](const Header& header) {
    return header.kind == Kind::kBroadcast ? fmt::format("broadcast from rank {}", header.root)
                                           : std::string(name_of(header.kind));
  };
  if (own.size != other.size)
    return fmt::format("rank {} has a group of {} ranks, rank 0 one of {}", rank, other.size,
                       own.size);
  if (own.kind != other.kind || own.root != other.root || own.number != other.number)
    return fmt::format(
        "the ranks of group {} made different calls: rank {} made call {}, {}; rank 0 made call "
        "{}, {}",
        name(), rank, other.number, describe_call(other), own.number, describe_call(own));
  return std::nullopt;
}

// An error here is one for all ranks, so that none waits for an answer.
std::string Group::combine(const std::vector<std::string>& messages,
                           const Combine& combine_bytes) const {
  try {
    std::vector<std::string> bytes;
    const Header own = Header::parse(messages.at(0));
    for (size_t i = 0; i < messages.size(); ++i) {
      const Header header = Header::parse(messages[i]);
      const int rank = static_cast<int>(i);
      if (header.kind == Kind::kFailure) return std::string(header.bytes);
      if (const auto different = difference(rank, own, header))
        return failure_answer(FailedPreconditionError(*different));
      bytes.emplace_back(header.bytes);
    }
    return MessageWriter().number(kAnswerIsResult).number(size()).rest(combine_bytes(bytes)).take();
  } catch (const Error& error) {
    return failure_answer(error);
  } catch (const std::exception& error) {
    return failure_answer(InternalError(error.what()));
  }
}

std::string Group::failure_answer(const Error& error, int failed_rank) const {
  return MessageWriter()
      .number(kAnswerIsError)
      .number(size())
      .number(static_cast<int64_t>(error.code()))
      .number(failed_rank)
      .rest(std::string_view(error.what()).substr(0, kMaxReasonBytes))
      .take();
}

std::string Group::open_answer(const std::string& answer) const {
  MessageReader reader(answer);
  const bool is_error = reader.number() == kAnswerIsError;
  const int64_t its_size = reader.number();
  if (is_error) {
    const Code code = static_cast<Code>(reader.number());
    const int rank = static_cast<int>(reader.number());
    if (rank >= 0) throw RankFailedError(rank, reader.rest());
    throw_error(code, std::string(reader.rest()));
  }
  if (its_size != size())
    throw FailedPreconditionError(
        fmt::format("{}: rank 0 has a group of {} ranks, expected {}", who(), its_size, size()));
  return std::string(reader.rest());
}

DeadlineExceededError Group::missing_error(int64_t number, const std::vector<int>& missing,
                                           double waited_secs, const std::string& note) const {
  const std::string whom =
      missing.empty()
          ? "an answer of rank 0"
          : fmt::format("rank{} {}", missing.size() == 1 ? "" : "s", fmt::join(missing, ", "));
  return DeadlineExceededError(
      fmt::format("group {}: rank {} waited {:g} s for {} of {} in call {}{}", name(), rank(),
                  std::round(10 * waited_secs) / 10, whom, size(), number, note));
}

void Group::barrier(Timeout timeout_secs) {
  call(Kind::kBarrier, 0, "", timeout_secs, [](const auto&) { return std::string(); });
}

std::string Group::broadcast(std::string_view bytes, int root, Timeout timeout_secs) {
  return call(Kind::kBroadcast, root, root == rank() ? bytes : "", timeout_secs,
              [root](const auto& all) { return all.at(static_cast<size_t>(root)); });
}

std::vector<std::string> Group::gather(std::string_view bytes, Timeout timeout_secs) {
  std::vector<std::string> gathered;
  call(Kind::kGather, 0, bytes, timeout_secs, [&gathered](const auto& all) {
    gathered = all;
    return std::string();
  });
  return gathered;
}

std::vector<std::string> Group::all_gather(std::string_view bytes, Timeout timeout_secs) {
  const std::string answer = call(Kind::kAllGather, 0, bytes, timeout_secs, [](const auto& all) {
    MessageWriter writer;
    for (const std::string& each : all) writer.text(each);
    return writer.take();
  });
  MessageReader reader(answer);
  std::vector<std::string> gathered;
  for (int i = 0; i < size(); ++i) gathered.emplace_back(reader.text());
  return gathered;
}

std::vector<Group::Distinct> Group::all_distinct(std::string_view bytes, Timeout timeout_secs) {
  const std::string answer = call(Kind::kAllDistinct, 0, bytes, timeout_secs, [](const auto& all) {
    MessageWriter writer;
    std::set<std::string_view> seen;
    for (size_t rank = 0; rank < all.size(); ++rank)
      if (seen.insert(all[rank]).second) writer.number(static_cast<int64_t>(rank)).text(all[rank]);
    return writer.take();
  });
  std::vector<Distinct> distinct;
  for (MessageReader reader(answer); !reader.rest().empty();) {
    const int64_t rank = reader.number();
    distinct.push_back({static_cast<int>(rank), std::string(reader.text())});
  }
  return distinct;
}

int64_t Group::all_max(int64_t value, Timeout timeout_secs) {
  const std::string answer = call(Kind::kAllMax, 0, MessageWriter().number(value).take(),
                                  timeout_secs, [](const std::vector<std::string>& all) {
                                    int64_t largest = MessageReader(all.at(0)).number();
                                    for (const std::string& each : all)
                                      largest = std::max(largest, MessageReader(each).number());
                                    return MessageWriter().number(largest).take();
                                  });
  return MessageReader(answer).number();
}

Group::Range Group::all_range(int64_t value, Timeout timeout_secs) {
  const std::string answer = call(Kind::kAllRange, 0, MessageWriter().number(value).take(),
                                  timeout_secs, [](const std::vector<std::string>& all) {
                                    std::vector<int64_t> numbers;
                                    for (const std::string& each : all)
                                      numbers.push_back(MessageReader(each).number());
                                    const auto [smallest, largest] = std::ranges::minmax(numbers);
                                    return MessageWriter().number(smallest).number(largest).take();
                                  });
  MessageReader reader(answer);
  const int64_t smallest = reader.number();
  return {smallest, reader.number()};
}

void Group::leave(std::string_view reason) noexcept {
  if (is_lost() || !owner_.is_here()) return;
  internal::try_or_log([this] { return fmt::format("leaving group {}", name()); },
                       [&] {
                         const RankFailedError error(
                             rank(), fmt::format("rank {} of {} left group {}: {}", rank(), size(),
                                                 name(), reason.substr(0, kMaxReasonBytes)));
                         error_ = std::make_exception_ptr(error);
                         tell(error);
                       });
}

void Group::throw_if_lost() const {
  check_usable();
  if (const std::optional<std::string> failure = known_failure(next_call())) open_answer(*failure);
}

std::optional<std::string> Group::known_failure(int64_t) const { return std::nullopt; }

std::string SingleGroup::exchange(int64_t, const std::string& message, WaitLimit&,
                                  const Combine& combine) {
  return combine({message});
}

void SingleGroup::send_failure(int64_t, const std::string&, const std::string&) {}

}  // namespace crochet::inline v0
