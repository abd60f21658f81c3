// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

#include "crochet/checkpoint/saver/save_ticket.h"

namespace crochet::inline v0::internal {

// Thrown by a save that has finally failed.
struct SaveFailed {
  std::exception_ptr error;
  SaveFault fault = SaveFault::kNone;
};

// Whether a write respects the free space reported by the file system.
enum class SpaceCheck {
  kRefuse,  // Fails at once without room for the whole checkpoint.
  kIgnore,  // Tries anyway: the reported free space may be wrong.
};

// How often a save is attempted in its own directory, before the fallback directory is tried. By
// default once.
class SaveAttempts {
 public:
  virtual ~SaveAttempts() = default;
  // For the next attempt.
  virtual SpaceCheck space_check() { return SpaceCheck::kRefuse; }
  // Whether another attempt follows one that failed because of the directory or its disk. May wait.
  virtual bool repeats_after(const std::exception_ptr& /*error*/) { return false; }
};

}  // namespace crochet::inline v0::internal
