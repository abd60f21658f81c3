// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/rehearsal.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {

std::string rehearsal_text(const Rehearsal& rehearsal) {
  return fmt::format("save={} kill={}", rehearsal.save_step, rehearsal.kill_step);
}

bool is_rehearsed() {
  const char* const text = std::getenv(kRehearsalVariable);
  return text != nullptr && *text != '\0';
}

std::optional<Rehearsal> requested_rehearsal() {
  if (!is_rehearsed()) return std::nullopt;
  const std::string text = std::getenv(kRehearsalVariable);
  if (text == kUndisturbed) return std::nullopt;
  Rehearsal found;
  std::sscanf(text.c_str(), "save=%" SCNd64 " kill=%" SCNd64, &found.save_step, &found.kill_step);
  if (found.save_step < 1 || found.kill_step <= found.save_step || rehearsal_text(found) != text)
    throw InvalidArgumentError(
        fmt::format("the environment variable {} is \"{}\", expected \"save=90 kill=100\", as "
                    "`crochet rehearse` sets it",
                    kRehearsalVariable, text));
  return found;
}

}  // namespace crochet::inline v0::internal
