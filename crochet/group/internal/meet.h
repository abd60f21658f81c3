// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/group/group.h"
#include "crochet/group/internal/rank_watch.h"
#include "crochet/group/internal/socket.h"
#include "crochet/group/join.h"

namespace crochet::inline v0::internal {

// Where rank 0 is, as it is passed on by something else than MASTER_ADDR and MASTER_PORT.
struct MeetingPlace {
  std::vector<Address> addresses = {};
  std::string nonce = {};

  CROCHET_EXPORT std::string encode() const;
  // Throws: DataLossError.
  CROCHET_EXPORT static MeetingPlace parse(std::string_view message);
};

CROCHET_EXPORT Membership membership_of(const GroupEnvironment& environment,
                                        const JoinGroupOptions& options);

// The socket of rank 0, on a free port, and where the others find it.
struct OpenPlace {
  Socket listener;
  MeetingPlace place;
};
CROCHET_EXPORT OpenPlace open_place();

// The group of rank 0, and of the others.
CROCHET_EXPORT std::shared_ptr<Group> serve_group(const Membership& self, Socket listener,
                                                  const JoinGroupOptions& options);
CROCHET_EXPORT std::shared_ptr<Group> reach_group(const Membership& self, const MeetingPlace& place,
                                                  const JoinGroupOptions& options);

// Only the watch of another rank.
CROCHET_EXPORT std::unique_ptr<RankWatch> reach_watch(const Membership& self,
                                                      const std::vector<Address>& addresses,
                                                      double secs);

}  // namespace crochet::inline v0::internal
