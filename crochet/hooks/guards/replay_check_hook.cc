// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/replay_check_hook.h"

#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/base/log.h"
#include "crochet/hooks/guards/internal/program_values.h"
#include "crochet/hooks/internal/global_step.h"
#include "crochet/ranks/internal/run_agreement.h"
#include "crochet/session/internal/after_restore.h"

namespace crochet::inline v0 {
namespace {

using internal::ProgramValues;

ReplayCheckHookOptions checked(const ReplayCheckHookOptions& options) {
  internal::check_at_least("ReplayCheckHook: num_steps", options.num_steps, 1);
  internal::check_at_least("ReplayCheckHook: every_n_steps", options.every_n_steps,
                           options.num_steps);
  return options;
}

// Returns the name of the first value that differs; empty if the copies are equal.
std::string first_difference(const ProgramValues& values, const ProgramValues::Copy& a,
                             const ProgramValues::Copy& b) {
  TensorMap others;
  values.for_each(b, [&](const std::string& name, const Tensor& value) { others[name] = value; });
  std::string found;
  values.for_each(a, [&](const std::string& name, const Tensor& value) {
    const auto other = others.find(name);
    if (found.empty() && (other == others.end() || other->second != value)) found = name;
    if (other != others.end()) others.erase(other);
  });
  if (found.empty() && !others.empty()) found = others.begin()->first;
  return found;
}

}  // namespace

struct ReplayCheckHook::Recorded {
  ProgramValues::Copy start;
  int64_t step;
  std::vector<std::function<void()>> runs = {};
};

ReplayCheckHook::ReplayCheckHook(ReplayCheckHookOptions options) : options_(checked(options)) {}
ReplayCheckHook::~ReplayCheckHook() = default;
ReplayCheckHook::ReplayCheckHook(ReplayCheckHook&&) noexcept = default;

void ReplayCheckHook::begin(Graph& graph) {
  internal::require_global_step(graph, *this);
  agreement_ = internal::agreement_of(graph);
}

void ReplayCheckHook::after_create_session(Session& session, Coordinator&) {
  step_ = read_global_step(session);
  recorded_.reset();
  values_ =
      std::make_unique<ProgramValues>(session, [](const std::string&, DType) { return true; });
  values_->add_hooks(session.graph());
}

std::optional<SessionRunArgs> ReplayCheckHook::before_run(SessionRunContext& context) {
  internal::require_session(values_ != nullptr, *this);
  context.request_global_step();
  const int64_t to_next = options_.every_n_steps - step_ % options_.every_n_steps;
  // A run that is repeated after a recovery begins again.
  if (to_next == options_.num_steps || (recorded_ && recorded_->runs.empty()))
    recorded_ = std::make_unique<Recorded>(
        Recorded{.start = values_->read(context.session()), .step = step_});
  return std::nullopt;
}

void ReplayCheckHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  step_ = context.global_step() + 1;
  if (!recorded_) return;
  recorded_->runs.push_back(context.repeatable_run());
  if (static_cast<int64_t>(recorded_->runs.size()) < options_.num_steps) return;
  check(context.session());
  recorded_.reset();
}

void ReplayCheckHook::check(Session& session) {
  const auto put_back = [&](const ProgramValues::Copy& copy) {
    values_->write(session, copy);
    internal::call_after_restore(session.graph());
  };
  const auto repeat = [&] {
    put_back(recorded_->start);
    for (const auto& run : recorded_->runs) run();
    return values_->read(session);
  };
  ++num_checks_;
  const ProgramValues::Copy first = values_->read(session);
  const ProgramValues::Copy second = repeat();
  const std::string difference = first_difference(*values_, first, second);
  const bool all_agree = agreement_->is_alone()
                             ? difference.empty()
                             : agreement_->group()->all_max(difference.empty() ? 0 : 1) == 0;
  if (all_agree) return put_back(first);
  // Of another rank: this one takes part in the steps.
  const ProgramValues::Copy third = repeat();
  if (difference.empty()) return put_back(first);
  ++num_corrections_;
  const std::string what = fmt::format(
      "ReplayCheckHook: steps {} to {}, made again from the same state, gave another "
      "value of \"{}\"",
      recorded_->step + 1, step_, difference);
  if (first_difference(*values_, first, third).empty()) {
    put_back(first);
    log_warning(
        fmt::format("{}; a third time they gave the first one, which is kept: this machine "
                    "computes wrong results at times",
                    what));
  } else if (first_difference(*values_, second, third).empty()) {
    // What hooks know is of the first time.
    ProgramValues::Copy kept = first;
    values_->take_named(second, kept);
    put_back(kept);
    log_warning(
        fmt::format("{}; a third time they gave the second one, which is kept: this "
                    "machine computes wrong results at times",
                    what));
  } else {
    throw DataLossError(fmt::format(
        "{}, and a third time a third one: the steps depend on more than what is tracked (`crochet "
        "rehearse` finds out), or this machine computes wrong results",
        what));
  }
}

}  // namespace crochet::inline v0
