// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/background_saver.h"

#include <utility>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/saver/save_worker.h"

namespace crochet {

BackgroundSaver::BackgroundSaver(Saver& saver, const BackgroundSaverOptions& options)
    : options_(options),
      state_("a background saver",
             State{*saver.publisher_, std::make_shared<internal::SaveWorker>(
                                          *saver.publisher_, options.max_retries)}) {
  if (options_.max_retries < 0)
    throw InvalidArgumentError("max_retries is {}, expected 0 or more", options_.max_retries);
  if (!(options_.progress_log_secs > 0))
    throw InvalidArgumentError("progress_log_secs is {}, expected more than 0",
                               options_.progress_log_secs);
}

BackgroundSaver::~BackgroundSaver() {
  if (state_.is_here()) state_->worker->end();
}

bool BackgroundSaver::start() {
  if (state_->thread.joinable()) return true;
  try {
    state_->thread = Thread("saving", [worker = state_->worker] { worker->work(); });
    return true;
  } catch (const ResourceExhaustedError& error) {
    if (!std::exchange(is_told_, true))
      log_warning("{}; training waits while checkpoints are written", error.what());
    return false;
  }
}

SaveTicket BackgroundSaver::enqueue(Snapshot snapshot, const std::string& save_path, int64_t step) {
  const bool waits = options_.overlap != SaveOverlapPolicy::kNewestWins;
  internal::Publisher& saver = *state_->saver;
  internal::SaveWorker& worker = *state_->worker;
  SaveTicket ticket(saver.prefix_of(save_path, step), step, saver.clock());
  const bool has_thread = start();
  if (waits) worker.wait_for_place();
  if (const auto former = worker.replace_next(
          {std::move(snapshot), ticket, saver.announce_write(ticket.prefix())})) {
    log_warning("{} is given up for {}: saves take longer than their interval",
                former->ticket.prefix(), ticket.prefix());
    SaveTicket(former->ticket)
        .fail(std::make_exception_ptr(CancelledError("given up for {}", ticket.prefix())));
  }
  if (!has_thread) worker.run_next();
  // Returning before the running save ends would hold a snapshot more.
  if (waits) worker.wait_for_place();
  return ticket;
}

bool BackgroundSaver::wait_for_turn() { return state_->worker->wait_for_turn(); }

bool BackgroundSaver::busy() { return state_->worker->busy(); }

int64_t BackgroundSaver::num_superseded() { return state_->worker->num_superseded(); }

std::vector<SaveTicket> BackgroundSaver::take_finished() {
  if (!state_.is_here()) return {};
  return state_->worker->take_finished();
}

void BackgroundSaver::wait() { state_->worker->wait(options_.progress_log_secs); }

bool BackgroundSaver::wait_until(Clock::TimePoint deadline) {
  return state_->worker->wait_until(deadline, options_.progress_log_secs);
}

void BackgroundSaver::close(Clock::TimePoint deadline, std::shared_ptr<void> held) {
  state_->worker->hurry();
  if (wait_until(deadline) && !busy()) return;
  const std::string unsaved = unfinished();
  const std::string last = last_published();
  leave_behind(std::move(held));
  if (unsaved.empty()) return;
  throw DeadlineExceededError(
      "time is up and not saved yet: {}; the last checkpoint that is published: {}; the writing "
      "goes on for as long as the process lives",
      unsaved, last);
}

void BackgroundSaver::leave_behind(std::shared_ptr<void> held) {
  state_->worker->leave_with(std::move(held));
  state_->worker->end();
  state_->thread.detach();
  // Whoever saves once more has another one, that knows nothing of this.
  state_->worker = std::make_shared<internal::SaveWorker>(state_->saver, options_.max_retries);
}

double BackgroundSaver::expected_secs(uint64_t num_bytes) {
  return state_->worker->estimate().seconds_for(num_bytes);
}

std::string BackgroundSaver::last_published() {
  const std::string last = state_->worker->last_published();
  return last.empty() ? "none of this run" : last;
}

std::string BackgroundSaver::unfinished() {
  std::vector<std::string> names;
  for (const SaveTicket& ticket : state_->worker->unfinished())
    names.push_back(fmt::format("{} (step {}: {})", ticket.prefix(), ticket.step(),
                                save_stage_name(ticket.stage())));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace crochet
