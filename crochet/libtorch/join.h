// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "crochet/base/export.h"
#include "crochet/group/group.h"
#include "crochet/group/group_environment.h"
#include "crochet/group/join.h"

namespace crochet::inline v0::libtorch {

using JoinOptions = JoinGroupOptions;

// The same as crochet::join_group, also where torchrun serves a store of LibTorch at MASTER_ADDR
// and MASTER_PORT: there rank 0 listens on a free port, and passes its address on in that store. A
// store that outlives the processes of a job has the addresses of all its starts: each needs
// another JoinOptions::generation than the environment's restart count, if that stays the same.
//
//   int main() {
//     const std::shared_ptr<Group> group = libtorch::join();
CROCHET_EXPORT std::shared_ptr<Group> join(const JoinOptions& options = {});
CROCHET_EXPORT std::shared_ptr<Group> join(const GroupEnvironment& environment,
                                           const JoinOptions& options = {});

}  // namespace crochet::inline v0::libtorch
