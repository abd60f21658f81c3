// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/engines/local/graph.h"
#include "crochet/loop/internal/loop_body.h"
#include "crochet/loop/internal/run_restore.h"
#include "crochet/loop/internal/training_run.h"
#include "crochet/loop/loop_options.h"
#include "crochet/loop/run_report.h"
#include "crochet/loop/step.h"
#include "crochet/tracking/tracker.h"
#include "crochet/training/monitored_session.h"
#include "crochet/training/scaffold.h"

namespace crochet::inline v0 {
struct AverageOptions;
}  // namespace crochet::inline v0

namespace crochet::inline v0::internal {

class Average;
class RunAgreement;
class StartedRun;
struct EarlyRestore;

// What a Loop consists of. Its functions mean what those of the Loop do.
class LoopState {
 public:
  explicit LoopState(LoopOptions options);
  ~LoopState();
  LoopState(const LoopState&) = delete;
  LoopState& operator=(const LoopState&) = delete;

  // To track a value with. Throws: FailedPreconditionError once the loop has run.
  Tracker& tracker();
  // `collection` is empty for values that are not summaries.
  void add_value(std::string name, std::function<Tensor()> compute, std::string_view collection);
  void add_hyperparameter(Hyperparameter hyperparameter);
  void add_average(std::string name, std::function<Tensor()> compute,
                   const AverageOptions& options);
  void add_hook(HookHandle hook);
  int64_t restore();
  std::string save();
  void check_epochs_are_tracked() const;
  // `compute` is empty for a body of one part.
  RunReport run_steps(const LoopBody& compute, const LoopBody& update);
  int64_t start_steps();
  bool should_stop() const;
  bool make_step(const LoopBody& body);
  RunReport finish();

 private:
  class OwnHook;

  TrainingRun training_run();
  void check_not_run(const char* what) const;
  void check_new_value(const std::string& name) const;
  void add_epoch_value();
  Operation add_step();
  // Calls `part`, which is all of the step or its first part, until it does not skip. Throws:
  // StopIteration if the run is to end after a skipped attempt.
  void begin_step(const LoopBody& part, int64_t number);
  LoopAction attempt(const LoopBody& part);
  void end_after_skip_if_requested();
  void rehearse(Session& session, const Operation& train);
  // Throws: as save().
  void check_may_save() const;
  void check_not_within(const char* what) const;
  // Adds the state of hooks in the checkpoint `prefix` to the graph. Returns its names.
  std::vector<std::string> add_hook_state(const std::string& prefix);
  void set_up();
  void fix_paths();
  RunRestore run_restore() const;
  // save(), in the chief.
  std::string save_state();
  void check_started(const char* what) const;
  // The beginning and the end of a run, for each public function that has one.
  void start_run(const char* function, const LoopBody* compute, const LoopBody* update);
  RunReport finish_run(const char* function);
  void within_run(const char* function, const std::function<void()>& call);
  std::set<std::string, std::less<>> tracked_names() const;

  LoopOptions options_;
  std::shared_ptr<Scaffold> scaffold_;
  local::Graph graph_;
  const std::shared_ptr<RunAgreement> agreement_;
  const Variable global_step_;
  Tracker tracker_;
  struct Value {
    std::string name;
    std::function<Tensor()> compute;
    std::string_view collection;
  };
  std::vector<Value> values_;
  std::map<std::string, std::shared_ptr<Average>> averages_;  // By name.
  std::vector<Hyperparameter> hyperparameters_;
  Step step_;
  int64_t skipped_steps_ = 0;
  // The body: both parts, or only the second one. Those of step() last as long as its call.
  const LoopBody* compute_ = nullptr;
  const LoopBody* update_ = nullptr;
  Operation train_;                               // A step.
  std::optional<RunReport> ended_;                // By step(), for finish().
  std::shared_ptr<StartedRun> started_;           // From the start of a run to its end.
  MonitoredSession* session_ = nullptr;           // Of the run, once it has one.
  int64_t calls_after_stop_ = 0;                  // Of step().
  std::optional<int64_t> step_to_save_;           // After restore(), or a run that did not fail.
  std::shared_ptr<const EarlyRestore> restored_;  // By restore().
  bool has_run_ = false;
  bool rehearsal_is_due_ = false;
  bool is_rehearsing_ = false;
  const char* within_ = nullptr;  // The function that is being called, if it calls back.
};

}  // namespace crochet::inline v0::internal
