// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/loop.h"

#include <atomic>
#include <utility>

#include "crochet/base/log.h"
#include "crochet/loop/internal/loop_state.h"

namespace crochet::inline v0 {

void internal::warn_of_fast_math() {
  static std::atomic<bool> has_warned = false;
  if (has_warned.exchange(true)) return;
  log_warning(
      "the program is compiled with -ffast-math: a run that resumes with another build of it may "
      "round differently");
}

Loop::Loop(LoopOptions options)
    : state_(std::make_shared<internal::LoopState>(std::move(options))) {}
Loop::~Loop() = default;

void Loop::add_hook(HookHandle hook) { state_->add_hook(std::move(hook)); }
int64_t Loop::restore() { return state_->restore(); }
std::string Loop::save() { return state_->save(); }
bool Loop::should_stop() const { return state_->should_stop(); }
RunReport Loop::finish() { return state_->finish(); }

Tracker& Loop::tracker() { return state_->tracker(); }
void Loop::add_hyperparameter(Hyperparameter hyperparameter) {
  state_->add_hyperparameter(std::move(hyperparameter));
}

void Loop::add_value(std::string name, std::function<Tensor()> compute,
                     std::string_view collection) {
  state_->add_value(std::move(name), std::move(compute), collection);
}
void Loop::add_average(std::string name, std::function<Tensor()> compute,
                       const AverageOptions& options) {
  state_->add_average(std::move(name), std::move(compute), options);
}
void Loop::check_epochs_are_tracked() const { state_->check_epochs_are_tracked(); }
RunReport Loop::run_steps(const internal::LoopBody& compute, const internal::LoopBody& update) {
  return state_->run_steps(compute, update);
}
int64_t Loop::start_steps() { return state_->start_steps(); }
bool Loop::make_step(const internal::LoopBody& body) { return state_->make_step(body); }

}  // namespace crochet::inline v0
