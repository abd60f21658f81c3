// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/nan_tensor_hook.h"

#include <cmath>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/hooks/internal/from_tensor.h"
#include "crochet/hooks/internal/global_step.h"
#include "crochet/hooks/internal/periodic_hook.h"

namespace crochet::inline v0 {

namespace {

// Empty for a graph without a step.
std::string at_step(Session& session) {
  if (!session.graph().global_step()) return "";
  return fmt::format(" at step {}", read_global_step(session));
}

}  // namespace

NanTensorHook::NanTensorHook(Fetches loss_tensor, NanTensorHookOptions options)
    : loss_(std::move(loss_tensor)), options_(options) {
  if (loss_.as_output() == nullptr && loss_.as_name() == nullptr)
    throw InvalidArgumentError("NanTensorHook: the loss must be one output or one name");
}

void NanTensorHook::begin(Graph& graph) { loss_ = internal::resolve_values(graph, loss_, *this); }

std::optional<SessionRunArgs> NanTensorHook::before_run(SessionRunContext&) {
  internal::require_session(loss_.as_output() != nullptr, *this);
  return SessionRunArgs{.fetches = loss_};
}

void NanTensorHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  const Tensor& loss = values.results.tensor();
  const Output& output = *loss_.as_output();
  if (!loss.is_set() ||
      !std::isnan(internal::number_of("NanTensorHook: ", output.operation()->name, loss)))
    return;
  context.reject_step();
  const std::string what = to_string(output) + " is NaN" + at_step(context.session());
  if (options_.fail_on_nan_loss) {
    log_error(what);
    throw NanLossDuringTrainingError("NaN loss during training: " + what);
  }
  log_warning(what + ": training stops");
  context.request_stop(to_string(output) + " is NaN");
}

}  // namespace crochet::inline v0
