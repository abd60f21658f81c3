// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "crochet/group/internal/line.h"
#include "crochet/group/internal/membership.h"

namespace crochet::inline v0::internal {

struct Reached {
  Line line;
  Membership chief = {};
};

// Connects a rank to rank 0, which is at one of the addresses and may start later.
// Throws: UnavailableError, which names the addresses, if it cannot be reached within `secs`;
// AlreadyExistsError or FailedPreconditionError if it belongs to another group.
Reached reach_chief(const Membership& self, const std::vector<Address>& addresses, Purpose purpose,
                    double secs);

// Listens for the other ranks. Waits for an older generation of the same job to end.
// Throws: AlreadyExistsError, which names the other job, if the port is in use by one;
// UnavailableError if it is in use by another program.
Socket listen_as_chief(const Membership& self, const Address& address, double secs);

}  // namespace crochet::inline v0::internal
