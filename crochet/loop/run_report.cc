// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/run_report.h"

#include <ostream>
#include <vector>

#include <fmt/ranges.h>

#include "crochet/base/internal/escape.h"

namespace crochet::inline v0 {

std::string to_string(const RunReport& report) {
  std::vector<std::string> facts;
  const auto add = [&facts](auto number, const char* if_one, const char* if_several) {
    if (number > 0)
      facts.push_back(fmt::format("{} {}", number, number == 1 ? if_one : if_several));
  };
  if (report.epochs) facts.push_back(fmt::format("epoch {:.2f}", *report.epochs));
  if (report.resumed_from) facts.push_back(fmt::format("resumed from {}", *report.resumed_from));
  if (report.restore)
    add(report.restore->refused.size(), "damaged checkpoint refused",
        "damaged checkpoints refused");
  add(report.skipped_steps, "skipped step", "skipped steps");
  add(report.recoveries, "recovery", "recoveries");
  add(report.saves, "checkpoint", "checkpoints");
  add(report.failed_saves, "failed save", "failed saves");
  add(report.saving.skipped, "skipped save", "skipped saves");
  add(report.saving.saved_in_fallback, "in the fallback directory", "in the fallback directory");
  add(report.saving.retries, "retry of a save", "retries of saves");
  const std::string details = facts.empty() ? "" : fmt::format(" ({})", fmt::join(facts, ", "));
  return internal::escape_text(fmt::format("step {}{}: {}: {}", report.last_step, details,
                                           report.stop.who, report.stop.reason));
}

std::ostream& operator<<(std::ostream& out, const RunReport& report) {
  return out << to_string(report);
}

}  // namespace crochet::inline v0
