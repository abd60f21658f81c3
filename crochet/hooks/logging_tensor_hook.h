// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/hooks/second_or_step_timer.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

// An output, or its name, and the tag under which it is logged, by default its name.
struct LoggedTensor {
  LoggedTensor(const char* name) : tag(name), tensor(name) {}
  LoggedTensor(std::string name) : tag(name), tensor(std::move(name)) {}
  LoggedTensor(Output output) : tag(to_string(output)), tensor(output) {}
  LoggedTensor(std::string tag, Fetches tensor) : tag(std::move(tag)), tensor(std::move(tensor)) {}

  std::string tag;
  Fetches tensor;
};

// At most one of every_n_iter and every_n_secs is set; with neither, every 2 s, or only at the end
// if at_end is set.
struct LoggingTensorHookOptions {
  // Logged in this order: {"loss", accuracy, {"rate", "schedule/learning_rate"}}.
  std::vector<LoggedTensor> tensors = {};
  // Runs between two lines, counted from the hook's begin, whatever the global step is.
  std::optional<int64_t> every_n_iter = {};
  std::optional<double> every_n_secs = {};
  // Whether to log once more when the run ends, even if the last run was logged.
  bool at_end = false;
  // Formats one or more lines from the values by tag; if empty: "loss = 0.25, rate = 0.1 (1.204
  // sec)".
  std::function<std::string(const TensorMap& values)> formatter = {};
  // The machine's if null. Not owned.
  Clock* clock = nullptr;
};

// Logs values of the training run: those of the first run, and then periodically. A value that
// is unset is shown as "-", a long vector by both of its ends. The seconds at the end of
// a line are the time since the previous line.
//
//   Loop loop({.hooks = {LoggingTensorHook({.tensors = {"loss"}, .every_n_iter = 100})}});
//
// Values are computed only in the runs that are logged. If a signal asks the process to end,
// nothing is evaluated at the end: the rest of the grace period is for the last checkpoint.
class CROCHET_EXPORT LoggingTensorHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError for conflicting options, no tensors, a tag that
  // is repeated, a tensor that is not one output, or an interval that is not above 0.
  explicit LoggingTensorHook(LoggingTensorHookOptions options);  // Misspelt? Name the type.

  // Throws: NotFoundError for a name the graph does not have.
  void begin(Graph& graph) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  // Throws what the evaluation throws.
  void end(Session& session) override;
  bool is_for_chief() const override { return true; }

 private:
  void log_values(const FetchValues& values);
  std::string line(const FetchValues& values) const;

  LoggingTensorHookOptions options_;
  std::optional<SecondOrStepTimer> timer_;  // Unset: logs at the end only.
  Fetches request_;                         // A list, as options_.tensors is.
  int64_t num_runs_ = 0;
  bool requested_ = false;
};

}  // namespace crochet::inline v0
