// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/run_token.h"

#include "crochet/base/error.h"

namespace crochet::local {

thread_local const RunToken::Holder* RunToken::held_ = nullptr;

void RunToken::check_not_held(const char* what) const {
  for (const Holder* holder = held_; holder != nullptr; holder = holder->outer_)
    if (&holder->token_ == this)
      throw FailedPreconditionError("{} was called from within an operation of the same session",
                                    what);
}

int RunToken::num_waiting() const {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  return state.num_waiting;
}

RunToken::Holder::Holder(RunToken& token, Access access, const char* what)
    : token_(token), state_(&*token.state_), access_(access), outer_(held_) {
  token_.check_not_held(what);
  {
    std::unique_lock lock(state_->mutex);
    const int more = access >= Access::kExclusive ? 1 : 0;
    ++state_->num_waiting;
    state_->num_waiting_for_more += more;
    state_->changed.wait(lock, [&] { return state_->may_enter(access); });
    --state_->num_waiting;
    state_->num_waiting_for_more -= more;
    ++state_->holders_of(access);
  }
  held_ = this;
}

RunToken::Holder::~Holder() {
  held_ = outer_;
  if (state_ != &*token_.state_) return;  // Forked within a run: it is the parent's that holds it.
  // Under the lock: the next holder may be the one that destroys the token.
  const std::lock_guard lock(state_->mutex);
  --state_->holders_of(access_);
  state_->changed.notify_all();
}

bool RunToken::State::may_enter(Access access) {
  if (holders_of(Access::kAlone) > 0) return false;
  if (access == Access::kNone) return true;
  if (holders_of(Access::kExclusive) > 0) return false;
  if (access == Access::kShared) return num_waiting_for_more == 0;
  if (holders_of(Access::kShared) > 0) return false;
  return access == Access::kExclusive || holders_of(Access::kNone) == 0;
}

}  // namespace crochet::local
