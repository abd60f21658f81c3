// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/base/internal/no_options.h"
#include "crochet/hooks/internal/progress_bar.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

struct ProgressBarHookOptions {
  // Outputs, by name, whose values are shown: real numbers. One that is unset is shown as "-".
  std::vector<std::string> values = {};
  // Seconds between two lines if the stream is not a terminal; there is also a line at each tenth
  // of the way.
  double every_secs = 10;
  // Where it is drawn; by default apart from what the program prints as its result. Not owned.
  std::FILE* stream = stderr;
  // The machine's if null. Not owned.
  Clock* clock = nullptr;
};

// Shows the progress of training. On a terminal: one line with a bar, step, values, steps/s and the
// time left, redrawn at most ten times a second, as wide as the window; coloured unless NO_COLOR is
// set. Otherwise: plain lines from time to time. Both have the number of warnings and errors that
// the run has logged. The last step comes from the hook that will
// stop the run (SessionRunHook::last_step).
//
// Values are computed only in the steps in which they are drawn. While the bar is on the
// screen, log lines are printed above it.
class CROCHET_EXPORT ProgressBarHook final : public SessionRunHook {
 public:
  explicit ProgressBarHook(ProgressBarHookOptions options = {});  // Misspelt? Name the type.
  explicit ProgressBarHook(internal::NoOptions) : ProgressBarHook() {}
  ~ProgressBarHook() override;
  ProgressBarHook(ProgressBarHook&&) noexcept;
  ProgressBarHook& operator=(ProgressBarHook&&) = delete;

  // Throws: NotFoundError for a value the graph does not have.
  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void end(Session& session) override;
  void on_error(std::exception_ptr error) override;
  bool is_for_chief() const override { return true; }

 private:
  class Screen;
  class Warnings;

  bool is_due(int64_t step, std::optional<int64_t> last_step) const;
  void measure_rate();

  ProgressBarHookOptions options_;
  Clock* clock_;  // Not owned.
  Output step_;
  Fetches request_;                     // The values.
  std::shared_ptr<Screen> screen_;      // Set between begin and the end.
  std::shared_ptr<Warnings> warnings_;  // The same.

  internal::Progress progress_;
  // The steps shown, with their times, over the period that the rate is measured.
  std::vector<std::pair<Clock::TimePoint, int64_t>> history_;
  int64_t shown_step_ = -1;
  Clock::TimePoint shown_at_;
  bool requested_ = false;
};

}  // namespace crochet::inline v0
