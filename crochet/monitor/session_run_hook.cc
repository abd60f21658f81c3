// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/monitor/session_run_hook.h"

#include "crochet/base/class_name.h"
#include "crochet/monitor/internal/hooked_session.h"

namespace crochet::inline v0 {

void SessionRunContext::request_stop(std::string reason, int signal) {
  stop_.request_stop({caller_ ? caller_->name() : "the program", std::move(reason), signal});
}

void SessionRunContext::request_save(std::string reason) {
  if (!save_request_) save_request_ = std::move(reason);
}

std::string SessionRunContext::activity() const { return owner_ ? owner_->activity() : ""; }

std::string SessionRunHook::name() const { return class_name_of(*this, "SessionRunHook"); }

}  // namespace crochet::inline v0
