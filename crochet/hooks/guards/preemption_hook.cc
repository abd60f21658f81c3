// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/preemption_hook.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/thread.h"
#include "crochet/base/log.h"
#include "crochet/hooks/internal/stop_in_time.h"
#include "crochet/hooks/internal/utc_text.h"
#include "crochet/ranks/ranks.h"

namespace crochet::inline v0 {
namespace {

// After an error, and after each further one twice as long. A notice may be two minutes before
// the end.
constexpr double kFirstPauseSecs = 1;
constexpr double kLastPauseSecs = 5;

}  // namespace

// Asks the source, in a thread of its own, and has what the hook knows.
class PreemptionHook::Watch {
 public:
  Watch(std::shared_ptr<PreemptionSource> source, Clock& clock)
      : stop_in_time(clock),
        source_(std::move(source)),
        clock_(clock),
        thread_("preemption notices", [this] { watch(); }) {}
  ~Watch() {
    stop_.request_stop();
    thread_.join();
  }

  // Unset if nothing has arrived since the last call.
  std::optional<PreemptionNotice> take() {
    if (!has_arrived_.load(std::memory_order_relaxed)) return std::nullopt;
    const std::lock_guard lock(mutex_);
    has_arrived_ = false;
    return std::exchange(notice_, std::nullopt);
  }

  internal::StopInTime stop_in_time;
  std::optional<PreemptionNotice> ending;  // The notice that ends the run.

 private:
  void watch() {
    double pause = kFirstPauseSecs;
    std::string last_error;
    while (!stop_.stop_requested()) {
      try {
        if (std::optional<PreemptionNotice> notice = source_->wait(stop_.get_token())) {
          const bool is_last = notice->ends_at.has_value();
          if (is_last) notice->text += ", which ends at " + internal::utc_text(*notice->ends_at);
          const std::string text = notice->text;
          keep(std::move(*notice));
          log_warning(text);
          if (is_last) return;
        }
        if (!last_error.empty()) log_info("notices of preemption can be asked for again");
        last_error.clear();
        pause = kFirstPauseSecs;
        continue;
      } catch (const std::exception& error) {
        if (error.what() != last_error)
          log_warning(fmt::format("a notice of preemption would not arrive: {}", error.what()));
        last_error = error.what();
      }
      clock_.sleep_for(from_seconds(pause), stop_.get_token());
      pause = std::min(2 * pause, kLastPauseSecs);
    }
  }

  void keep(PreemptionNotice notice) {
    const std::lock_guard lock(mutex_);
    notice_ = std::move(notice);
    has_arrived_ = true;
  }

  const std::shared_ptr<PreemptionSource> source_;
  Clock& clock_;
  std::mutex mutex_;
  std::optional<PreemptionNotice> notice_;  // Guarded by mutex_.
  std::atomic<bool> has_arrived_ = false;
  std::stop_source stop_;
  internal::Thread thread_;  // Last: it uses the others.
};

PreemptionHook::PreemptionHook(std::shared_ptr<PreemptionSource> source, Clock* clock)
    : source_(std::move(source)), clock_(&Clock::or_real(clock)) {
  if (!source_) throw InvalidArgumentError("PreemptionHook: the source is a null pointer");
}

PreemptionHook::~PreemptionHook() = default;
PreemptionHook::PreemptionHook(PreemptionHook&&) noexcept = default;

void PreemptionHook::begin(Graph& graph) {
  const Group* const group = group_of(graph);
  ends_at_once_ = group != nullptr && group->rank() != 0;
  watch_ = std::make_unique<Watch>(source_, *clock_);
}

void PreemptionHook::after_create_session(Session&, Coordinator&) { watch_->stop_in_time.begin(); }

void PreemptionHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  watch_->stop_in_time.measure();
  if (const std::optional<PreemptionNotice> notice = watch_->take()) {
    context.request_save(notice->text);
    if (notice->ends_at) watch_->ending = notice;
  }
  const std::optional<PreemptionNotice>& ending = watch_->ending;
  if (!ending) return;
  if (ends_at_once_)
    context.request_stop(ending->text, SIGTERM);
  else
    watch_->stop_in_time.request(context, *ending->ends_at, ending->text);
}

void PreemptionHook::end(Session&) { watch_.reset(); }
void PreemptionHook::on_error(std::exception_ptr) { watch_.reset(); }

}  // namespace crochet::inline v0
