// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/logging_tensor_hook.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/hooks/internal/global_step.h"
#include "crochet/hooks/internal/value_text.h"

namespace crochet::inline v0 {
namespace {

constexpr double kDefaultSecs = 2;

void check_interval(const LoggingTensorHookOptions& options) {
  const bool iter = options.every_n_iter.has_value();
  const bool secs = options.every_n_secs.has_value();
  if (iter && secs)
    throw InvalidArgumentError(fmt::format(
        "LoggingTensorHook: every_n_iter is {} and every_n_secs is {}: at most one of them may be "
        "given",
        *options.every_n_iter, *options.every_n_secs));
  if (iter && *options.every_n_iter <= 0)
    throw InvalidArgumentError(fmt::format(
        "LoggingTensorHook: invalid every_n_iter {}, expected 1 or more", *options.every_n_iter));
}

void check_tensors(const std::vector<LoggedTensor>& tensors) {
  if (tensors.empty()) throw InvalidArgumentError("LoggingTensorHook: no tensors to log");
  std::set<std::string_view> tags;
  for (const auto& [tag, tensor] : tensors) {
    if (tensor.as_output() == nullptr && tensor.as_name() == nullptr)
      throw InvalidArgumentError(
          fmt::format("LoggingTensorHook: \"{}\" must be one output or one name", tag));
    if (!tags.insert(tag).second)
      throw InvalidArgumentError(fmt::format("LoggingTensorHook: the tag \"{}\" is repeated", tag));
  }
}

}  // namespace

LoggingTensorHook::LoggingTensorHook(LoggingTensorHookOptions options)
    : options_(std::move(options)) {
  if (!options_.every_n_iter && !options_.every_n_secs && !options_.at_end)
    options_.every_n_secs = kDefaultSecs;
  check_interval(options_);
  check_tensors(options_.tensors);
  if (options_.every_n_iter || options_.every_n_secs)
    timer_.emplace(SecondOrStepTimerOptions{.every_steps = options_.every_n_iter,
                                            .every_secs = options_.every_n_secs,
                                            .clock = options_.clock,
                                            .owner = "LoggingTensorHook",
                                            .steps_option = "every_n_iter",
                                            .secs_option = "every_n_secs"});
}

void LoggingTensorHook::begin(Graph& graph) {
  if (timer_) timer_->reset();
  num_runs_ = 0;
  Fetches::List outputs;
  for (const auto& [tag, tensor] : options_.tensors) {
    outputs.push_back(graph.resolve(tensor));
    if (!outputs.back().as_output()->has_value())
      throw InvalidArgumentError(fmt::format("LoggingTensorHook: \"{}\" has no value", tag));
  }
  request_ = std::move(outputs);
}

std::optional<SessionRunArgs> LoggingTensorHook::before_run(SessionRunContext&) {
  internal::require_session(!request_.empty(), *this);
  requested_ = timer_ && timer_->should_trigger_for_step(num_runs_);
  if (!requested_) return std::nullopt;
  return SessionRunArgs{.fetches = request_};
}

void LoggingTensorHook::after_run(SessionRunContext&, const SessionRunValues& values) {
  if (requested_) log_values(values.results);
  ++num_runs_;
}

void LoggingTensorHook::end(Session& session) {
  if (!options_.at_end) return;
  if (left_out_for_signal("the final values are not logged")) return;
  log_values(session.run(request_));
}

void LoggingTensorHook::log_values(const FetchValues& values) {
  std::optional<SecondOrStepTimer::Elapsed> elapsed;
  if (timer_) elapsed = timer_->update_last_triggered_step(num_runs_);
  std::string text = line(values);
  if (elapsed && !options_.formatter) text += fmt::format(" ({:.3f} sec)", elapsed->secs);
  std::string_view rest = text;
  do {  // A formatter may make several lines.
    const std::string_view line = rest.substr(0, rest.find('\n'));
    log(Severity::kInfo, line);
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  } while (!rest.empty());
}

std::string LoggingTensorHook::line(const FetchValues& values) const {
  TensorMap by_tag;
  std::string text;
  for (size_t i = 0; i < options_.tensors.size(); ++i) {
    const std::string& tag = options_.tensors[i].tag;
    const Tensor& value = values[i].tensor();
    if (options_.formatter) {
      by_tag[tag] = value;
    } else {
      text += fmt::format("{}{} = {}", i > 0 ? ", " : "", tag, internal::value_text(value));
    }
  }
  return options_.formatter ? options_.formatter(by_tag) : text;
}

}  // namespace crochet::inline v0
