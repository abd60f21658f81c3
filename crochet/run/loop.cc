// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/loop.h"

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/run/training_run.h"

namespace crochet::inline v0 {
namespace {

// The user's memory cannot be initialised again: a recovery needs a checkpoint.
std::function<bool()> has_checkpoint(const Saver& saver, const std::string& directory,
                                     const std::string& basename) {
  return [&files = saver.files(), directory, basename, second = saver.fallback_dir()] {
    const auto holds_one = [&](const std::string& where) {
      return !where.empty() && files.exists(where) &&
             !list_checkpoints(files, where, basename).empty();
    };
    return holds_one(directory) || holds_one(second);
  };
}

// Sets a flag until it is destroyed.
class ScopedFlag {
 public:
  explicit ScopedFlag(bool& flag) : flag_(flag) { flag_ = true; }
  ~ScopedFlag() { flag_ = false; }
  ScopedFlag(const ScopedFlag&) = delete;
  ScopedFlag& operator=(const ScopedFlag&) = delete;

 private:
  bool& flag_;
};

int64_t next_step(const Tensor& completed) { return global_step_value(completed) + 1; }

}  // namespace

Loop::Loop(LoopOptions options)
    : options_(std::move(options)),
      scaffold_(std::make_shared<Scaffold>()),
      global_step_(graph_.create_global_step()),
      tracker_(graph_, "") {
  scaffold_->saver = std::make_shared<Saver>(
      SaverOptions{.format = options_.checkpoint_format,
                   .max_to_keep = options_.max_to_keep,
                   .keep_checkpoint_every_n_hours = options_.keep_checkpoint_every_n_hours,
                   .keep_checkpoint_every_n_steps = options_.keep_checkpoint_every_n_steps,
                   .keep_best = options_.keep_best,
                   .fallback_dir = options_.fallback_dir,
                   .files = options_.files,
                   .clock = options_.clock});
  graph_.set_copy_threads(options_.copy_threads);
  graph_.set_checks_snapshots(options_.check_torn_snapshots);
  check_options(training_options());
}

Loop::~Loop() = default;

MonitoredTrainingSessionOptions Loop::training_options() {
  return {.graph = graph_,
          .checkpoint_dir = options_.checkpoint_dir,
          .checkpoint_basename = options_.checkpoint_basename,
          .scaffold = scaffold_,
          .hooks = options_.hooks,
          .save_checkpoint_steps = options_.save_checkpoint_steps,
          .save_checkpoint_secs = options_.save_checkpoint_secs,
          .saving_listeners = options_.saving_listeners,
          .checkpoint_metrics = options_.checkpoint_metrics,
          .save_overlap = options_.save_overlap,
          .on_save_error = options_.on_save_error,
          .deadline_secs = options_.deadline_secs,
          .save_summaries_steps = options_.save_summaries_steps,
          .save_summaries_secs = options_.save_summaries_secs,
          .log_step_count_steps = options_.log_step_count_steps,
          .summary_dir = options_.summary_dir,
          .stop_grace_period_secs = options_.stop_grace_period_secs,
          .max_recoveries = options_.max_recoveries,
          .can_recover = has_checkpoint(*scaffold_->saver, options_.checkpoint_dir,
                                        options_.checkpoint_basename),
          .files = options_.files,
          .clock = options_.clock};
}

void Loop::check_not_run(const char* what) const {
  if (has_run_) throw FailedPreconditionError(fmt::format("Loop::{} after run()", what));
  if (is_restoring_)
    throw FailedPreconditionError(
        fmt::format("Loop::{} was called from within Loop::restore", what));
}

void Loop::add_hook(HookHandle hook) {
  check_not_run("add_hook");
  options_.hooks.push_back(std::move(hook));
}

int64_t Loop::restore() {
  check_not_run("restore");
  if (options_.checkpoint_dir.empty()) return 0;
  const ScopedFlag restoring(is_restoring_);
  const std::unique_ptr<Session> session = graph_.new_session("");
  RestoreReport report;
  const std::optional<std::string> prefix = scaffold_->saver->restore_newest(
      *session, options_.checkpoint_dir, options_.checkpoint_basename, &report);
  if (!prefix) return 0;
  const int64_t step = read_global_step(*session);
  restored_ = std::make_unique<internal::EarlyRestore>(internal::EarlyRestore{
      .prefix = *prefix, .report = std::move(report), .names = tracked_names()});
  return step;
}

std::set<std::string, std::less<>> Loop::tracked_names() const {
  std::set<std::string, std::less<>> names;
  for (const Variable& variable : graph_.variables())
    if (variable != global_step_) names.insert(variable.name());
  for (const RegisteredSaveable& saveable : graph_.saveables()) names.insert(saveable.name);
  return names;
}

Operation Loop::add_step(const Callable& compute, const Callable& update) {
  const Variable step = global_step_;
  std::vector<Output> before_update;
  if (compute) {
    graph_.set_background_copies(true);
    before_update.push_back(
        graph_.add({.name = "loop/compute",
                    .reads = {step},
                    .kernel = [this, &compute, step](local::KernelContext& context) {
                      step_.number_ = next_step(context.variable(step));
                      compute(step_);
                    }}));
  }
  const Operation body =
      graph_.add({.name = "loop/update",
                  .control_inputs = before_update,
                  .reads = {step},
                  .changes_borrowed = true,
                  .intact_at_end_of_input = !compute,
                  .kernel = [this, &update, step](local::KernelContext& context) {
                    step_.number_ = next_step(context.variable(step));
                    update(step_);
                  }});
  const Operation train = graph_.increment_global_step({body});
  for (Value& value : values_) {
    const Output output = graph_.value(value.name, std::move(value.compute), {train});
    if (!value.collection.empty()) graph_.add_to_collection(value.collection, output);
  }
  return train;
}

RunReport Loop::run_steps(const Callable& compute, const Callable& update) {
  check_not_run("run");
  has_run_ = true;
  const Operation train = add_step(compute, update);
  return internal::train(training_options(), restored_.get(), [&](MonitoredSession& session) {
    while (!session.should_stop()) {
      session.run(train);
      if (step_.stop_) session.request_stop(*std::exchange(step_.stop_, std::nullopt));
    }
  });
}

}  // namespace crochet::inline v0
