// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/internal/run_journal.h"

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/command_line.h"
#include "crochet/base/internal/process_facts.h"
#include "crochet/base/log.h"
#include "crochet/hooks/internal/journal_times.h"
#include "crochet/hooks/internal/utc_text.h"
#include "crochet/version.h"

namespace crochet::inline v0::internal {
namespace {

void add_settings(const char* group, const std::vector<Hyperparameter>& settings,
                  JournalEvent& event) {
  for (const auto& [name, value] : settings) {
    const std::string key = fmt::format("{}/{}", group, name);
    std::visit([&](const auto& each) { event.with(key, each); }, value);
  }
}

JournalEvent start_event(const RunJournal::Settings& settings) {
  const ProcessFacts facts = facts_of_this_process();
  JournalEvent event("start");
  event.with("command", own_command_line())
      .with("pid", facts.pid)
      .with("host", facts.host)
      .with("boot", facts.boot)
      .with("process_start", facts.started)
      .with("crochet", CROCHET_VERSION)
      .with("compiler", __VERSION__)
      .with("ranks", settings.num_ranks);
  if (const auto used = libraries(); !used.empty()) event.with("libraries", used);
  if (facts.oom_kills)
    event.with("memory_group", facts.memory_group).with("oom_kills", *facts.oom_kills);
  add_settings("options", settings.options, event);
  add_settings("hyperparameters", settings.hyperparameters, event);
  return event;
}

}  // namespace

RunJournal::RunJournal(const std::string& directory, Settings settings, const TimeLedger& times,
                       FileSystem& files, Clock& clock)
    : directory_(directory),
      times_(times),
      clock_(clock),
      settings_(std::move(settings)),
      journal_(Journal::begin(directory, files, clock)) {}

RunJournal::~RunJournal() { end_failed({}); }

void RunJournal::end_failed(const std::optional<int64_t>& step) {
  journal_->end([&] {
    JournalEvent event("end", step);
    event.with("why", "error");
    add_times(times_.times(), event);
    return event;
  });
}

void RunJournal::begin_session() {
  begin_ = clock_.now();
  const int number = num_sessions_++;
  if (number == 0) return journal_->open([this] { return start_event(settings_); });
  journal_->record_durably([this, number] {
    JournalEvent event("recovery", times_.lost_step());
    event.with("number", number);
    if (std::current_exception()) event.with("error", describe(std::current_exception()));
    return event;
  });
}

void RunJournal::record_session(const std::optional<RestoreReport>& restored, int64_t step) {
  journal_->is_after(step);
  if (num_sessions_ == 1) log_lost(step);
  if (!restored) return;
  journal_->record([&] {
    JournalEvent event("restore", step);
    event.with("checkpoint", restored->prefix)
        .with("seconds", to_seconds(clock_.now() - begin_))
        .with("values", restored->restored.size());
    std::vector<std::string> refused;
    for (const RefusedCheckpoint& each : restored->refused) refused.push_back(each.prefix);
    if (!refused.empty()) event.with("refused", refused);
    return event;
  });
}

void RunJournal::log_lost(int64_t step) const {
  const auto life = journal_->unended_life();
  if (!life) return;
  const int64_t lost = life->step - step;
  log_warning(
      fmt::format("{}: life {} was last heard of at {}, after step {}; this one begins at "
                  "step {}: {}",
                  directory_, life->number, utc_text(life->time), life->step, step,
                  lost > 0 ? fmt::format("{} or more steps are lost", lost)
                           : "no step is lost that the journal has"));
}

void RunJournal::record_stop(const StopRequest& request, int64_t step) {
  journal_->record([&] {
    JournalEvent event("stop", step);
    event.with("who", request.who).with("reason", request.reason);
    if (request.signal != 0) event.with("signal", request.signal);
    return event;
  });
}

void RunJournal::end(const RunReport& report) {
  journal_->end([&] {
    JournalEvent event("end", report.last_step);
    event.with("why", "stop")
        .with("reason", fmt::format("{}: {}", report.stop.who, report.stop.reason))
        .with("exit_code", report.exit_code())
        .with("saves", report.saves)
        .with("failed_saves", report.failed_saves);
    add_times(report.times, event);
    return event;
  });
}

}  // namespace crochet::inline v0::internal
