// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/format.h>

#include "crochet/base/log.h"
#include "crochet/ranks/ranks.h"

namespace crochet::inline v0 {

void StopState::request_stop(StopRequest request) {
  if (!is_held_) return decide(std::move(request));
  if (request_ || proposal_) return;
  proposal_ = std::move(request);
  log_debug(fmt::format("{} wants a stop: {}", proposal_->who, proposal_->reason));
}

void StopState::decide(StopRequest request) {
  ++num_requests_;
  if (request_) return;
  request_ = std::move(request);
  log_info(fmt::format("{} requested a stop: {}", request_->who, request_->reason));
}

}  // namespace crochet::inline v0
