// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// What `crochet rehearse` asks of the program that it starts, by an environment variable: to save a
// checkpoint after one step, and to end as if it were killed after a later one.
struct Rehearsal {
  int64_t save_step = 0;
  int64_t kill_step = 0;

  friend bool operator==(const Rehearsal&, const Rehearsal&) = default;
};

inline constexpr const char* kRehearsalVariable = "CROCHET_REHEARSAL";
// Its value for a program that the command starts as it is, to compare with.
inline constexpr const char* kUndisturbed = "undisturbed";

// The value of the variable: "save=90 kill=100".
CROCHET_EXPORT std::string rehearsal_text(const Rehearsal& rehearsal);
// Unset without the variable, and if the program is not to be disturbed. Throws:
// InvalidArgumentError if its value is not rehearsal_text() of steps with
// 0 < save_step < kill_step.
CROCHET_EXPORT std::optional<Rehearsal> requested_rehearsal();
// True for a program that the command has started, which must change nothing outside of the
// directory in which it was started.
CROCHET_EXPORT bool is_rehearsed();

}  // namespace crochet::inline v0::internal
