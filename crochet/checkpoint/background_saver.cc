// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/background_saver.h"

#include <utility>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/save_worker.h"

namespace crochet {

BackgroundSaver::BackgroundSaver(Saver& saver, const BackgroundSaverOptions& options)
    : saver_(saver.core_),
      options_(options),
      worker_(std::make_shared<internal::SaveWorker>(saver_, options.max_retries)) {
  if (options_.max_retries < 0)
    throw InvalidArgumentError("max_retries is {}, expected 0 or more", options_.max_retries);
  if (!(options_.progress_log_secs > 0))
    throw InvalidArgumentError("progress_log_secs is {}, expected more than 0",
                               options_.progress_log_secs);
}

BackgroundSaver::~BackgroundSaver() {
  worker_->end();
  if (thread_.joinable()) thread_.join();
}

void BackgroundSaver::start() {
  if (thread_.joinable()) return;
  thread_ = std::thread([worker = worker_] { worker->work(); });
}

SaveTicket BackgroundSaver::enqueue(Snapshot snapshot, const std::string& save_path, int64_t step) {
  const bool waits = options_.overlap != SaveOverlapPolicy::kNewestWins;
  SaveTicket ticket(saver_->prefix_of(save_path, step), step, saver_->clock());
  start();
  if (waits) worker_->wait_for_place();
  if (const auto former =
          worker_->replace_next({std::move(snapshot), ticket, saver_->announce_write()})) {
    log_warning("{} is given up for {}: saves take longer than their interval",
                former->ticket.prefix(), ticket.prefix());
    SaveTicket(former->ticket)
        .fail(std::make_exception_ptr(CancelledError("given up for {}", ticket.prefix())));
  }
  // Returning before the running save ends would hold a snapshot more.
  if (waits) worker_->wait_for_place();
  return ticket;
}

bool BackgroundSaver::wait_for_turn() { return worker_->wait_for_turn(); }

bool BackgroundSaver::busy() { return worker_->busy(); }

int64_t BackgroundSaver::num_superseded() { return worker_->num_superseded(); }

std::vector<SaveTicket> BackgroundSaver::take_finished() { return worker_->take_finished(); }

void BackgroundSaver::wait() { worker_->wait(options_.progress_log_secs); }

bool BackgroundSaver::wait_until(Clock::TimePoint deadline) {
  return worker_->wait_until(deadline, options_.progress_log_secs);
}

void BackgroundSaver::close(Clock::TimePoint deadline, std::shared_ptr<void> held) {
  worker_->hurry();
  if (wait_until(deadline)) return;
  const std::string message =
      fmt::format("time is up and not saved yet: {}; the last checkpoint that is published: {}",
                  unfinished(), last_published());
  worker_->leave_with(std::move(held));
  worker_->end();
  thread_.detach();
  // Whoever saves once more has another one, that knows nothing of this.
  worker_ = std::make_shared<internal::SaveWorker>(saver_, options_.max_retries);
  throw DeadlineExceededError("{}; the writing goes on for as long as the process lives", message);
}

double BackgroundSaver::expected_secs(uint64_t num_bytes) {
  return worker_->estimate().seconds_for(num_bytes);
}

std::string BackgroundSaver::last_published() {
  const std::string last = worker_->last_published();
  return last.empty() ? "none of this run" : last;
}

std::string BackgroundSaver::unfinished() {
  std::vector<std::string> names;
  for (const SaveTicket& ticket : worker_->unfinished())
    names.push_back(fmt::format("{} (step {}: {})", ticket.prefix(), ticket.step(),
                                save_stage_name(ticket.stage())));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace crochet
