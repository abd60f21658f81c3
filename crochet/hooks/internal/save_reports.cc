// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/save_reports.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

// TensorBoard sorts its groups by name, so that this one comes after those of the user.
constexpr const char* kLastInTensorBoard = "~";
// How many of the first figures of a save are curves in TensorBoard, too.
constexpr size_t kNumCurves = 3;

// The end of a save, with its stages.
JournalEvent end_event(const SaveTicket& ticket, double blocked_secs) {
  const bool is_saved = !ticket.error();
  JournalEvent event(is_saved ? "saved" : "save_failed", ticket.step());
  event.with("checkpoint", is_saved ? ticket.location() : ticket.prefix())
      .with("blocked_secs", blocked_secs);
  for (const SaveStage stage : {SaveStage::kWritten, SaveStage::kDurable, SaveStage::kPublished})
    if (const auto seconds = ticket.seconds(stage))
      event.with(fmt::format("{}_secs", save_stage_name(stage)), *seconds);
  event.with("attempts", ticket.num_attempts());
  if (is_saved)
    event.with("bytes", ticket.num_bytes()).with("shared_bytes", ticket.shared_bytes());
  else
    event.with("error", describe(ticket.error()));
  return event;
}

}  // namespace

void SaveReports::record_blocked(int64_t step, Clock::Duration duration) {
  if (journal_)
    journal_->record(
        [&] { return JournalEvent("save", step).with("blocked_secs", to_seconds(duration)); });
  blocked_secs_[step] += to_seconds(duration);
  statistics_.blocked_secs += to_seconds(duration);
}

void SaveReports::record_skipped(int64_t step) {
  ++statistics_.skipped;
  if (journal_) journal_->record([step] { return JournalEvent("save_skipped", step); });
  write(step, {});
}

double SaveReports::record_ended(const SaveTicket& ticket, const RunTimes& times) {
  statistics_.add(ticket);
  const double blocked_secs = blocked_secs_[ticket.step()];
  blocked_secs_.erase(blocked_secs_.begin(), blocked_secs_.upper_bound(ticket.step()));
  if (journal_) journal_->record([&] { return end_event(ticket, blocked_secs); });
  if (ticket.error()) {
    write(ticket.step(), {});
    return blocked_secs;
  }
  const auto seconds = [&](SaveStage stage) { return ticket.seconds(stage).value_or(0); };
  write(ticket.step(), {{"checkpoint/seconds", seconds(SaveStage::kPublished)},
                        {"checkpoint/blocked_seconds", blocked_secs},
                        {"checkpoint/steps_percent", steps_percent(times)},
                        {"checkpoint/written_seconds", seconds(SaveStage::kWritten)},
                        {"checkpoint/durable_seconds", seconds(SaveStage::kDurable)},
                        {"checkpoint/bytes", static_cast<double>(ticket.num_bytes())},
                        {"checkpoint/shared_bytes", static_cast<double>(ticket.shared_bytes())}});
  return blocked_secs;
}

void SaveReports::write(int64_t step, std::vector<Scalar> figures) {
  if (!writer_) return;
  std::vector<Scalar> curves;
  for (const Scalar& figure :
       std::span(figures).first(std::min<size_t>(figures.size(), kNumCurves)))
    curves.push_back({kLastInTensorBoard + figure.tag, figure.value});
  const auto add = [&](const char* tag, int64_t count) {
    figures.push_back({tag, static_cast<double>(count)});
  };
  add("checkpoint/saved", statistics_.saved);
  add("checkpoint/failed", statistics_.failed);
  add("checkpoint/skipped", statistics_.skipped);
  add("checkpoint/retries", statistics_.retries);
  writer_->add_scalars(step, curves, figures);
}

double SaveReports::steps_percent(const RunTimes& times) {
  const double passed = times.total - std::exchange(total_secs_, times.total);
  const double of_steps = times.steps() - std::exchange(steps_secs_, times.steps());
  return passed > 0 ? 100 * std::clamp(of_steps / passed, 0.0, 1.0) : 100;
}

}  // namespace crochet::inline v0::internal
