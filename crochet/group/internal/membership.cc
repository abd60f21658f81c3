// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/group/internal/membership.h"

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/escape.h"
#include "crochet/group/internal/message_bytes.h"

namespace crochet::inline v0::internal {
namespace {

constexpr std::string_view kGreeting = "crochet group 1";
constexpr std::string_view kReply = "crochet chief 1";

void write(MessageWriter& writer, const Membership& member) {
  writer.text(member.job).text(member.nonce).number(member.generation);
  writer.number(member.rank).number(member.size).text(member.process);
}

Membership read(MessageReader& reader) {
  Membership member;
  member.job = reader.text();
  member.nonce = reader.text();
  member.generation = reader.number();
  member.rank = static_cast<int>(reader.number());
  member.size = static_cast<int>(reader.number());
  member.process = reader.text();
  return member;
}

MessageReader open(std::string_view message, std::string_view expected) {
  MessageReader reader(message);
  if (reader.text() != expected) throw UnavailableError("another program answers there");
  return reader;
}

std::string describe(const Membership& chief) {
  return fmt::format("job \"{}\", generation {}, of {} ranks, whose rank 0 is {}",
                     escape_name(chief.job), chief.generation, chief.size,
                     escape_name(chief.process));
}

// A greeting and its reply have one form.
std::string encoded(std::string_view kind, int64_t number, const Membership& member) {
  MessageWriter writer;
  writer.text(kind).number(number);
  write(writer, member);
  return writer.take();
}

}  // namespace

std::string Membership::who() const {
  return fmt::format("rank {} of {} ({})", rank, size, escape_name(process));
}

std::string Greeting::encode() const {
  return encoded(kGreeting, static_cast<int64_t>(purpose), member);
}

Greeting Greeting::parse(std::string_view message) {
  MessageReader reader = open(message, kGreeting);
  Greeting greeting;
  greeting.purpose = static_cast<Purpose>(reader.number());
  greeting.member = read(reader);
  return greeting;
}

std::string Reply::encode() const { return encoded(kReply, static_cast<int64_t>(verdict), chief); }

Reply Reply::parse(std::string_view message) {
  MessageReader reader = open(message, kReply);
  Reply reply;
  reply.verdict = static_cast<Verdict>(reader.number());
  reply.chief = read(reader);
  return reply;
}

Verdict judge(const Membership& member, const Membership& chief) {
  if (member.job != chief.job || member.nonce != chief.nonce) return Verdict::kOtherJob;
  if (member.generation != chief.generation) return Verdict::kOtherGeneration;
  if (member.size != chief.size || member.rank < 1 || member.rank >= chief.size)
    return Verdict::kOtherSize;
  return Verdict::kWelcome;
}

void throw_refused(const Membership& own, const std::string& address, const Reply& reply) {
  const std::string who = fmt::format("rank {} of {} (job \"{}\", generation {})", own.rank,
                                      own.size, escape_name(own.job), own.generation);
  if (reply.verdict == Verdict::kOtherSize)
    throw FailedPreconditionError(
        fmt::format("{}: rank 0 at {} has a group of {} ranks, expected {}", who, address,
                    reply.chief.size, own.size));
  if (reply.verdict == Verdict::kTaken)
    throw AlreadyExistsError(fmt::format(
        "{}: another process has already joined {} at {} as this rank: give each job a MASTER_PORT "
        "of its own, and one that is started again another generation",
        who, describe(reply.chief), address));
  throw AlreadyExistsError(
      fmt::format("{}: {} is in use by {}: give each job a MASTER_PORT of its own, or wait until "
                  "that one has ended",
                  who, address, describe(reply.chief)));
}

}  // namespace crochet::inline v0::internal
