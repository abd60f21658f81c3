// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/join.h"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "crochet/base/error.h"
#include "crochet/group/internal/meet.h"
#include "crochet/libtorch/internal/c10d_store.h"

namespace crochet::inline v0::libtorch {
namespace {

internal::C10dStore agent_store(const GroupEnvironment& environment, const std::string& who,
                                double secs) {
  const std::string address = environment.master_address();
  return {
      internal::open_tcp_store({.host = environment.master_addr,
                                .port = static_cast<uint16_t>(environment.master_port.value_or(0)),
                                .timeout_secs = secs,
                                .who = "libtorch::join: " + who}),
      fmt::format("{}: the store at {}", who, address), secs};
}

// Ranks find rank 0 in the store, and each other's remains: it outlives the processes of a job.
class Rendezvous {
 public:
  Rendezvous(const GroupEnvironment& environment, const crochet::internal::Membership& self,
             double secs)
      : who_(fmt::format("rank {} of {}", self.rank, self.size)),
        prefix_(fmt::format("crochet/{}/{}/", self.job, self.generation)),
        secs_(secs),
        store_(agent_store(environment, who_, secs)) {
    if (store_.add(fmt::format("{}joined/{}", prefix_, self.rank), 1) != 1)
      throw AlreadyExistsError(fmt::format(
          "{} (job \"{}\"): another process has already joined generation {} as this rank: a job "
          "that is started again on the same store needs another generation",
          who_, self.job, self.generation));
  }

  void publish(const crochet::internal::MeetingPlace& place) {
    store_.set(prefix_ + "chief", place.encode());
  }
  crochet::internal::MeetingPlace find() {
    const std::optional<std::string> found = store_.get(prefix_ + "chief", from_seconds(secs_));
    if (found) return crochet::internal::MeetingPlace::parse(*found);
    throw UnavailableError(fmt::format("{}: rank 0 has not joined within {:g} s", who_, secs_));
  }

 private:
  const std::string who_;
  const std::string prefix_;
  const double secs_;
  internal::C10dStore store_;
};

}  // namespace

std::shared_ptr<Group> join(const JoinOptions& options) {
  return join(GroupEnvironment::from_environment(), options);
}

std::shared_ptr<Group> join(const GroupEnvironment& environment, const JoinOptions& options) {
  if (environment.size == 1 || !environment.uses_agent_store)
    return join_group(environment, options);
  crochet::internal::Membership self = crochet::internal::membership_of(environment, options);
  Rendezvous rendezvous(environment, self, options.connect_timeout_secs);
  if (environment.rank != 0)
    return crochet::internal::reach_group(self, rendezvous.find(), options);
  crochet::internal::OpenPlace open = crochet::internal::open_place();
  self.nonce = open.place.nonce;
  rendezvous.publish(open.place);
  return crochet::internal::serve_group(self, std::move(open.listener), options);
}

}  // namespace crochet::inline v0::libtorch
