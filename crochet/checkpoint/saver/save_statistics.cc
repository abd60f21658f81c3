// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "crochet/checkpoint/saver/save_ticket.h"

namespace crochet::inline v0 {
namespace {

std::string size_text(uint64_t bytes) {
  constexpr double kStep = 1000;
  const char* const units[] = {"bytes", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= kStep && unit + 1 < std::size(units); ++unit) value /= kStep;
  return fmt::format("{:.3g} {}", value, units[unit]);
}

}  // namespace

void SaveStatistics::add(const SaveTicket& ticket) {
  retries += std::max(0, ticket.num_attempts() - 1);
  if (ticket.error()) {
    ++failed;
    return;
  }
  if (ticket.location().empty()) return;  // Nothing to save.
  ++saved;
  if (ticket.location() != ticket.prefix()) ++saved_in_fallback;
  bytes += ticket.num_bytes();
  shared_bytes += ticket.shared_bytes();
  written_secs += ticket.seconds(SaveStage::kWritten).value_or(0);
  durable_secs += ticket.seconds(SaveStage::kDurable).value_or(0);
  published_secs += ticket.seconds(SaveStage::kPublished).value_or(0);
}

void SaveStatistics::add(const SaveStatistics& other) {
  saved += other.saved;
  failed += other.failed;
  skipped += other.skipped;
  retries += other.retries;
  saved_in_fallback += other.saved_in_fallback;
  bytes += other.bytes;
  shared_bytes += other.shared_bytes;
  blocked_secs += other.blocked_secs;
  written_secs += other.written_secs;
  durable_secs += other.durable_secs;
  published_secs += other.published_secs;
}

std::string to_string(const SaveStatistics& statistics) {
  std::string text =
      fmt::format("{} checkpoint{}", statistics.saved, statistics.saved == 1 ? "" : "s");
  if (statistics.saved > 0) {
    text += fmt::format(", {}", size_text(statistics.bytes));
    if (statistics.shared_bytes > 0)
      text += fmt::format(" ({} shared with earlier ones)", size_text(statistics.shared_bytes));
    text += fmt::format(", published on average {:.3f} s after their snapshots",
                        statistics.published_secs / static_cast<double>(statistics.saved));
  }
  text += fmt::format(", training was blocked for {:.3f} s", statistics.blocked_secs);
  const auto add = [&text](int64_t number, const char* what) {
    if (number > 0) text += fmt::format("; {} {}", number, what);
  };
  add(statistics.saved_in_fallback, "in the fallback directory");
  add(statistics.failed, "failed");
  add(statistics.skipped, "skipped");
  add(statistics.retries, statistics.retries == 1 ? "retry" : "retries");
  return text;
}

std::ostream& operator<<(std::ostream& out, const SaveStatistics& statistics) {
  return out << to_string(statistics);
}

}  // namespace crochet::inline v0
