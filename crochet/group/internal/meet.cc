// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/group/internal/meet.h"

#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/random.h"
#include "crochet/group/internal/message_bytes.h"
#include "crochet/group/internal/reach.h"
#include "crochet/group/internal/socket_group.h"

namespace crochet::inline v0::internal {
namespace {

GroupOptions group_options(const Membership& self, const JoinGroupOptions& options) {
  return {.rank = self.rank,
          .size = self.size,
          .name = self.job,
          .generation = self.generation,
          .timeout_secs = options.timeout_secs};
}

}  // namespace

std::string MeetingPlace::encode() const {
  MessageWriter writer;
  writer.text(nonce);
  for (const Address& address : addresses) writer.text(address.host).number(address.port);
  return writer.take();
}

MeetingPlace MeetingPlace::parse(std::string_view message) {
  MessageReader reader(message);
  MeetingPlace place;
  place.nonce = reader.text();
  while (!reader.rest().empty()) {
    const std::string_view host = reader.text();
    place.addresses.push_back(
        {.host = std::string(host), .port = static_cast<uint16_t>(reader.number())});
  }
  return place;
}

Membership membership_of(const GroupEnvironment& environment, const JoinGroupOptions& options) {
  return {.job = environment.job.empty() ? "job" : environment.job,
          .generation = options.generation.value_or(environment.restart_count),
          .rank = environment.rank,
          .size = environment.size,
          .process = own_process()};
}

OpenPlace open_place() {
  std::optional<Socket> listener = listen_on(0);
  if (!listener) throw UnavailableError("cannot listen: no port is free");
  MeetingPlace place{.nonce = fmt::format("{:016x}", random_number())};
  for (std::string& host : own_hosts())
    place.addresses.push_back({.host = std::move(host), .port = port_of(*listener)});
  return {.listener = *std::move(listener), .place = std::move(place)};
}

std::shared_ptr<Group> serve_group(const Membership& self, Socket listener,
                                   const JoinGroupOptions& options) {
  return std::make_shared<SocketGroup>(std::make_unique<RankWatch>(self, std::move(listener)),
                                       group_options(self, options));
}

std::unique_ptr<RankWatch> reach_watch(const Membership& self,
                                       const std::vector<Address>& addresses, double secs) {
  Reached reached = reach_chief(self, addresses, Purpose::kWatch, secs);
  return std::make_unique<RankWatch>(self, reached.chief, std::move(reached.line));
}

std::shared_ptr<Group> reach_group(const Membership& self, const MeetingPlace& place,
                                   const JoinGroupOptions& options) {
  Membership member = self;
  member.nonce = place.nonce;
  const double secs = options.connect_timeout_secs;
  std::unique_ptr<RankWatch> watch = reach_watch(member, place.addresses, secs);
  Reached messages = reach_chief(member, place.addresses, Purpose::kMessages, secs);
  return std::make_shared<SocketGroup>(std::move(watch), std::move(messages.line),
                                       place.addresses.front().text(),
                                       group_options(member, options));
}

}  // namespace crochet::inline v0::internal
