// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/spike_guard_hook.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/base/log.h"
#include "crochet/hooks/guards/internal/spike_detector.h"
#include "crochet/hooks/internal/from_tensor.h"
#include "crochet/hooks/internal/global_step.h"
#include "crochet/hooks/internal/periodic_hook.h"
#include "crochet/training/internal/go_back.h"

namespace crochet::inline v0 {
namespace {

constexpr int64_t kMaxRefused = 10;

SpikeGuardHookOptions checked(const SpikeGuardHookOptions& options) {
  internal::check_above("SpikeGuardHook: factor", options.factor, 0);
  internal::check_at_least("SpikeGuardHook: min_values", options.min_values, 1);
  internal::check_at_least("SpikeGuardHook: window", options.window, options.min_values);
  internal::check_at_least("SpikeGuardHook: skip_before", options.skip_before, 0);
  internal::check_at_least("SpikeGuardHook: skip_after", options.skip_after, 0);
  internal::check_above("SpikeGuardHook: learning_rate_factor", options.learning_rate_factor, 0);
  internal::check_at_least("SpikeGuardHook: max_rollbacks", options.max_rollbacks, 0);
  return options;
}

std::string number_text(double value) {
  return std::isnan(value) ? "NaN" : fmt::format("{:.4g}", value);
}

}  // namespace

SpikeGuardHook::SpikeGuardHook(Fetches loss, SpikeGuardHookOptions options)
    : loss_(std::move(loss)),
      options_(checked(options)),
      detector_(std::make_unique<internal::SpikeDetector>(
          options_.factor, static_cast<size_t>(options_.window),
          static_cast<size_t>(options_.min_values))) {
  if (loss_.as_output() == nullptr && loss_.as_name() == nullptr)
    throw InvalidArgumentError("SpikeGuardHook: the loss must be one output or one name");
}

SpikeGuardHook::~SpikeGuardHook() = default;
SpikeGuardHook::SpikeGuardHook(SpikeGuardHook&&) noexcept = default;

bool SpikeGuardHook::skips_batch() {
  ++num_batches_;
  return std::ranges::any_of(skipped_, [this](const Batches& batches) {
    return batches.first <= num_batches_ && num_batches_ <= batches.second;
  });
}

bool SpikeGuardHook::accepts(double loss) {
  if (!detector_->is_spike(loss)) {
    num_refused_ = 0;
    return true;
  }
  log_warning(fmt::format("batch {} is skipped: its loss, {}, is a spike: {}", num_batches_,
                          number_text(loss), detector_->text()));
  if (++num_refused_ < kMaxRefused) return false;
  num_refused_ = 0;
  const int64_t first = num_batches_ - kMaxRefused + 1;
  const Rollback rollback =
      decide({.step = step_, .value = loss, .batches = {first, num_batches_}});
  throw internal::GoBackError(rollback.reason, rollback.step);
}

double SpikeGuardHook::learning_rate_factor() const {
  return std::pow(options_.learning_rate_factor, static_cast<double>(num_rollbacks_));
}

void SpikeGuardHook::begin(Graph& graph) {
  internal::require_global_step(graph, *this);
  loss_ = internal::resolve_values(graph, loss_, *this);
}

void SpikeGuardHook::after_create_session(Session& session, Coordinator&) {
  start_ = step_ = read_global_step(session);
  num_refused_ = 0;
}

std::optional<SessionRunArgs> SpikeGuardHook::before_run(SessionRunContext& context) {
  internal::require_session(loss_.as_output() != nullptr, *this);
  context.request_global_step();
  return SessionRunArgs{.fetches = loss_};
}

void SpikeGuardHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  step_ = context.global_step() + 1;
  const Tensor& loss = values.results.tensor();
  if (!loss.is_set()) return;
  const double value =
      internal::number_of("SpikeGuardHook: ", loss_.as_output()->operation()->name, loss);
  if (detector_->is_spike(value)) {
    const Rollback rollback =
        decide({.step = step_, .value = value, .batches = {num_batches_, num_batches_}});
    context.go_back_to(rollback.step, rollback.reason);
  }
  detector_->add(value);
  if (step_ >= last_spike_step_ + options_.window) rollbacks_in_a_row_ = 0;
}

SpikeGuardHook::Rollback SpikeGuardHook::decide(const Spike& spike) {
  const std::string what =
      fmt::format("{} = {} at step {} is a spike: {}", to_string(*loss_.as_output()),
                  number_text(spike.value), spike.step, detector_->text());
  if (rollbacks_in_a_row_ == options_.max_rollbacks) {
    const std::string text =
        fmt::format("SpikeGuardHook: {}; the run went back {} times since step {} and ends", what,
                    rollbacks_in_a_row_, last_spike_step_);
    if (std::isnan(spike.value)) throw NanLossDuringTrainingError(text);
    throw FailedPreconditionError(text);
  }
  int64_t step = spike.step - 1 - options_.skip_before;
  // Where it began may have been too late.
  if (rollbacks_in_a_row_ > 0) step = std::min(step, start_ - 1);
  last_spike_step_ = std::max(last_spike_step_, spike.step);
  ++rollbacks_in_a_row_;
  ++num_rollbacks_;
  std::string skipped = "no batch is skipped, since the body does not call skips_batch()";
  if (num_batches_ > 0) {
    skipped_.emplace_back(spike.batches.first - options_.skip_before,
                          spike.batches.second + options_.skip_after);
    skipped =
        fmt::format("batches {} to {} are skipped", skipped_.back().first, skipped_.back().second);
  }
  return {step, fmt::format("{}; rollback {} of at most {}, to step {} or before it; {}", what,
                            rollbacks_in_a_row_, options_.max_rollbacks, std::max<int64_t>(0, step),
                            skipped)};
}

SaveableMap SpikeGuardHook::saveables() {
  return {{"state", internal::make_saveable([this] { return save(); },
                                            [this](const TensorMap& state) { restore(state); })}};
}

TensorMap SpikeGuardHook::save() const {
  std::vector<int64_t> skipped;
  for (const auto& [first, last] : skipped_) {
    skipped.push_back(first);
    skipped.push_back(last);
  }
  return {{"counts", Tensor::from(std::vector<int64_t>{num_batches_, num_rollbacks_,
                                                       rollbacks_in_a_row_, last_spike_step_})},
          {"skipped", Tensor::from(skipped)},
          {"values", Tensor::from(detector_->values())}};
}

// What this process knows of spikes is more than a checkpoint from before them has.
void SpikeGuardHook::restore(const TensorMap& state) {
  const auto find = [&](const char* key, DType dtype) -> const Tensor& {
    const auto found = state.find(key);
    if (found == state.end() || found->second.dtype() != dtype || found->second.shape().rank() != 1)
      throw InvalidArgumentError(fmt::format("SpikeGuardHook: its state has no vector \"{}\" of {}",
                                             key, dtype_name(dtype)));
    return found->second;
  };
  const auto counts = find("counts", dtype_of<int64_t>).flat<int64_t>();
  const auto skipped = find("skipped", dtype_of<int64_t>).flat<int64_t>();
  const auto values = find("values", dtype_of<double>).flat<double>();
  if (counts.size() != 4 || skipped.size() % 2 != 0)
    throw InvalidArgumentError(fmt::format(
        "SpikeGuardHook: its state has {} counts and {} limits of batches, expected 4 and pairs",
        counts.size(), skipped.size()));
  num_batches_ = counts[0];
  num_rollbacks_ = std::max(num_rollbacks_, counts[1]);
  rollbacks_in_a_row_ = std::max(rollbacks_in_a_row_, counts[2]);
  last_spike_step_ = std::max(last_spike_step_, counts[3]);
  for (size_t i = 0; i < skipped.size(); i += 2) {
    const Batches batches(skipped[i], skipped[i + 1]);
    if (std::ranges::find(skipped_, batches) == skipped_.end()) skipped_.push_back(batches);
  }
  detector_->set_values(values);
}

}  // namespace crochet::inline v0
