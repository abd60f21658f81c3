// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "crochet/io/file_system.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::internal {

struct RehearsedSteps {
  std::string prefix;  // Of the checkpoints, which are removed at the end.
  int64_t num_steps = 0;
  // Called after each restore.
  std::function<void()> when_restored = {};
  // Makes a step. False if the program makes no further one.
  std::function<bool()> make_step = {};
};

// Makes the steps twice from the same state: once as they follow, and once after a checkpoint of
// that state was saved and restored, as by a process that is started again. Leaves the state as it
// was found.
// Throws: FailedPreconditionError with the first value that differs afterwards; what steps, saves
// and restores throw.
void rehearse(Session& session, FileSystem& files, const RehearsedSteps& steps);

}  // namespace crochet::inline v0::internal
