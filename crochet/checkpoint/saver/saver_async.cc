// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The saver that programs hold, and the worker it may have.
#include "crochet/base/error.h"
#include "crochet/checkpoint/saver/background_saver.h"
#include "crochet/checkpoint/saver/saver.h"

namespace crochet {
namespace {

Clock::TimePoint after(const Clock& clock, double seconds) {
  if (!(seconds >= 0))
    throw InvalidArgumentError("deadline_secs is {}, expected 0 or more", seconds);
  return clock.now() + from_seconds(seconds);
}

}  // namespace

Saver::Saver(SaverOptions options)
    : core_("a saver", std::make_shared<internal::SaverCore>(std::move(options))) {}

Saver::~Saver() = default;

SaveTicket Saver::save_async(Session& session, const std::string& save_path, int64_t step) {
  if (!background_) background_ = std::make_unique<BackgroundSaver>(*this);
  background_->take_finished();  // Whoever wants to know has the tickets.
  background_->wait_for_turn();
  return background_->enqueue(snapshot(session, prefix_of(save_path, step)), save_path, step);
}

void Saver::wait(std::optional<double> deadline_secs) {
  if (!background_) return;
  if (!deadline_secs) return background_->wait();
  if (background_->wait_until(after(clock(), *deadline_secs))) return;
  const std::string unsaved = background_->unfinished();
  if (unsaved.empty()) return;  // By now.
  throw DeadlineExceededError(
      "not saved within {:g} s: {}; the last checkpoint that is published: {}", *deadline_secs,
      unsaved, background_->last_published());
}

void Saver::close(std::optional<double> deadline_secs) {
  if (!background_) return;
  if (!deadline_secs) return background_->wait();
  background_->close(after(clock(), *deadline_secs));
}

}  // namespace crochet
