// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/group/join.h"

#include <utility>

#include "crochet/base/error.h"
#include "crochet/group/internal/meet.h"
#include "crochet/group/internal/reach.h"

namespace crochet::inline v0 {

std::shared_ptr<Group> join_group(const JoinGroupOptions& options) {
  return join_group(GroupEnvironment::from_environment(), options);
}

std::shared_ptr<Group> join_group(const GroupEnvironment& environment,
                                  const JoinGroupOptions& options) {
  if (environment.size == 1) return std::make_shared<SingleGroup>();
  environment.master_address();  // Throws if a part of it is missing.
  if (environment.uses_agent_store)
    throw FailedPreconditionError(
        "join_group: torchrun serves a store of LibTorch at MASTER_PORT: call libtorch::join, or "
        "start torchrun with TORCHELASTIC_USE_AGENT_STORE=False");
  const internal::Address address = {
      .host = environment.master_addr,
      .port = static_cast<uint16_t>(environment.master_port.value_or(0))};
  const internal::Membership self = internal::membership_of(environment, options);
  if (environment.rank != 0) return internal::reach_group(self, {.addresses = {address}}, options);
  return internal::serve_group(
      self, internal::listen_as_chief(self, address, options.connect_timeout_secs), options);
}

}  // namespace crochet::inline v0
