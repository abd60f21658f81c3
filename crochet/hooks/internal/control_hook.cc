// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/control_hook.h"

#include <utility>

#include <fmt/format.h>

#include "crochet/hooks/internal/journal_times.h"
#include "crochet/hooks/internal/utc_text.h"

namespace crochet::inline v0::internal {
namespace {

constexpr Clock::Duration kInterval = std::chrono::seconds(1);
// Of the steps and times in the journal, from the first step on.
constexpr Clock::Duration kProgressInterval = std::chrono::seconds(30);
// These n steps are short if they take less than this together.
constexpr int kStepsToReading = 8;
constexpr Clock::Duration kShortSteps = std::chrono::milliseconds(8);

std::string text_of(const RunLimit& limit) {
  std::string text = limit.at_step ? fmt::format("at step {}", *limit.at_step)
                                   : "at " + utc_text(limit.until.value_or(0));
  if (limit.when_saved) text += ", or with the first checkpoint after that";
  return text;
}

}  // namespace

// Knows the newest checkpoint that was published.
class ControlHook::Listener final : public CheckpointSaverListener {
 public:
  bool after_save(Session&, int64_t step) override {
    newest_ = step;
    return false;
  }
  // One of an earlier step may still have been on its way.
  bool has_saved(int64_t step) const { return newest_ >= step; }

 private:
  int64_t newest_ = -1;
};

ControlHook::ControlHook(const std::string& directory, FileSystem& files, Clock& clock,
                         std::shared_ptr<Journal> journal)
    : control_(files, directory),
      clock_(clock),
      journal_(std::move(journal)),
      listener_(std::make_shared<Listener>()) {}

ControlHook::~ControlHook() = default;

std::shared_ptr<CheckpointSaverListener> ControlHook::listener() { return listener_; }

void ControlHook::after_create_session(Session& session, Coordinator&) {
  first_step_ = read_global_step(session);
  start_ = next_look_ = last_reading_ = clock_.coarse_now();
  next_progress_ = start_;
  steps_to_reading_ = 1;
  if (!std::exchange(knows_limit_, true)) limit_ = control_.limit();
}

std::optional<SessionRunArgs> ControlHook::before_run(SessionRunContext& context) {
  context.request_global_step();
  return {};
}

// The clock is not read in each of many short steps.
bool ControlHook::is_time_to_look() {
  if (--steps_to_reading_ > 0) return false;
  const Clock::TimePoint now = clock_.coarse_now();
  steps_to_reading_ = now - last_reading_ < kShortSteps ? kStepsToReading : 1;
  last_reading_ = now;
  if (now < next_look_) return false;
  next_look_ = now + kInterval;
  return true;
}

bool ControlHook::is_progress_due() {
  if (last_reading_ < next_progress_) return false;
  next_progress_ = last_reading_ + kProgressInterval;
  return true;
}

void ControlHook::look() {
  request_ = control_.take();
  is_time_over_ = limit_ && limit_->until && clock_.wall_time() >= *limit_->until;
}

void ControlHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  if (stops_when_saved_ && listener_->has_saved(stops_when_saved_->from_step))
    context.request_stop(stops_when_saved_->why);
  const int64_t at_least = context.global_step() + 1;  // A run may make several steps.
  if (journal_) journal_->is_after(at_least);
  const bool looks = is_time_to_look();
  if (looks) look();
  const bool reports = looks && journal_ && is_progress_due();
  if (!request_ && !limit_ && !reports) return;
  const int64_t step = request_ || reports ? read_global_step(context.session()) : at_least;
  if (reports) record_progress(step, context);
  if (request_) carry_out(*std::exchange(request_, std::nullopt), step, context);
  if (const auto why = reached(step)) {
    const bool when_saved = limit_->when_saved;
    limit_.reset();
    control_.set_limit({});
    if (when_saved) {
      stops_when_saved_ = {*why, step};
    } else {
      context.request_stop(*why);
    }
  }
}

void ControlHook::record_progress(int64_t step, const SessionRunContext& context) {
  journal_->record([&] {
    JournalEvent event("progress", step);
    if (const auto last = context.last_step()) event.with("last_step", *last);
    add_times(context.times(), event);
    return event;
  });
}

void ControlHook::carry_out(const ControlRequest& request, int64_t step,
                            SessionRunContext& context) {
  std::string text;
  switch (request.verb) {
    case ControlVerb::kStop:
      if (request.limit.when_saved) {
        stops_when_saved_ = {"crochet stop --when-saved", step};
        text = fmt::format("step {}: the run ends with its next checkpoint", step);
      } else {
        context.request_stop("crochet stop");
        text = fmt::format("the run ends after step {}, with a checkpoint", step);
      }
      break;
    case ControlVerb::kSave:
      context.request_save("crochet save");
      text = fmt::format("a checkpoint of step {} is written", step);
      break;
    case ControlVerb::kLimit:
      accept_limit(request);
      text = limit_ ? fmt::format("step {}: the run ends {}", step, text_of(*limit_))
                    : fmt::format("step {}: the run has no limit", step);
      break;
    case ControlVerb::kStatus:
      text = status(step);
      break;
  }
  if (journal_)
    journal_->record([&] {
      return JournalEvent("control", step)
          .with("request", verb_name(request.verb))
          .with("answer", text);
    });
  control_.answer({request.id, text});
}

void ControlHook::on_error(std::exception_ptr error) {
  if (journal_) journal_->fail(error);
}

void ControlHook::accept_limit(const ControlRequest& request) {
  RunLimit limit = request.limit;
  if (request.for_secs) limit.until = clock_.wall_time() + *request.for_secs;
  limit_.reset();
  if (limit.at_step || limit.until) limit_ = limit;
  is_time_over_ = limit.until && clock_.wall_time() >= *limit.until;
  control_.set_limit(limit);
}

std::optional<std::string> ControlHook::reached(int64_t step) const {
  if (!limit_) return std::nullopt;
  if (limit_->at_step ? step < *limit_->at_step : !is_time_over_) return std::nullopt;
  return "crochet limit: " + text_of(*limit_);
}

std::string ControlHook::status(int64_t step) const {
  const double secs = to_seconds(clock_.now() - start_);
  std::string text = fmt::format("step {}", step);
  if (secs > 0)
    text += fmt::format(", {:.4g} steps/s since step {}",
                        static_cast<double>(step - first_step_) / secs, first_step_);
  if (limit_) text += fmt::format("; ends {}", text_of(*limit_));
  if (stops_when_saved_) text += "; ends with its next checkpoint";
  return text;
}

}  // namespace crochet::inline v0::internal
