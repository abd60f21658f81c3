// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace crochet::inline v0::internal {

// What the hooks want for the state after a step: see SessionRunContext.
struct SaveProposal {
  std::optional<std::string> request = {};  // Why it is to be saved; unset: no hook asked for that.
  bool is_rejected = false;                 // It is not to be saved.
};

}  // namespace crochet::inline v0::internal
