// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string_view>

#include "crochet/base/error.h"
#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// A hook wants the run to continue from an earlier step: a recovery whose session starts there.
class CROCHET_EXPORT GoBackError final : public AbortedError {
 public:
  GoBackError(std::string_view message, int64_t step) : AbortedError(message), step_(step) {}

  // The last step from whose checkpoint the run may continue.
  int64_t step() const { return step_; }

 private:
  int64_t step_;
};

// That of such an error; unset for any other.
CROCHET_EXPORT std::optional<int64_t> step_to_go_back_to(const std::exception_ptr& error);

}  // namespace crochet::inline v0::internal
