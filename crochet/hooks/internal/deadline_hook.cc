// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/deadline_hook.h"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "crochet/base/log.h"
#include "crochet/hooks/internal/utc_text.h"

namespace crochet::inline v0::internal {

DeadlineHook::DeadlineHook(double time, Clock& clock)
    : time_(time), reason_("the deadline is " + utc_text(time)), stop_(clock) {}

void DeadlineHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  stop_.measure();
  stop_.request(context, time_, reason_);
}

std::optional<double> slurm_end_time() {
  const char* const value = std::getenv("SLURM_JOB_END_TIME");
  if (value == nullptr || *value == '\0') return std::nullopt;
  const std::string_view text = value;
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc() && end == text.data() + text.size() && seconds > 0 &&
      static_cast<double>(seconds) < kYear10000)
    return static_cast<double>(seconds);
  log_warning(fmt::format(
      "SLURM_JOB_END_TIME is \"{}\", expected seconds since 1970: the run does not heed it", text));
  return std::nullopt;
}

}  // namespace crochet::inline v0::internal
