// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/run_report.h"

#include <vector>

#include <fmt/ranges.h>

#include "crochet/base/escape.h"

namespace crochet::inline v0 {
namespace {

std::string count(int64_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace

std::string to_string(const RunReport& report) {
  std::vector<std::string> facts;
  if (report.resumed_from) facts.push_back(fmt::format("resumed from {}", *report.resumed_from));
  if (report.restore && !report.restore->refused.empty())
    facts.push_back(
        count(static_cast<int64_t>(report.restore->refused.size()), "damaged checkpoint") +
        " refused");
  if (report.recoveries > 0)
    facts.push_back(report.recoveries == 1 ? "1 recovery"
                                           : fmt::format("{} recoveries", report.recoveries));
  if (report.saves > 0) facts.push_back(count(report.saves, "checkpoint"));
  if (report.failed_saves > 0) facts.push_back(count(report.failed_saves, "failed save"));
  if (report.saving.skipped > 0) facts.push_back(count(report.saving.skipped, "skipped save"));
  if (report.saving.saved_elsewhere > 0)
    facts.push_back(fmt::format("{} in the fallback directory", report.saving.saved_elsewhere));
  if (report.saving.retries > 0)
    facts.push_back(report.saving.retries == 1
                        ? "1 retry of a save"
                        : fmt::format("{} retries of saves", report.saving.retries));
  const std::string details = facts.empty() ? "" : fmt::format(" ({})", fmt::join(facts, ", "));
  return internal::escape_text(fmt::format("step {}{}: {}: {}", report.last_step, details,
                                           report.stop.who, report.stop.reason));
}

}  // namespace crochet::inline v0
