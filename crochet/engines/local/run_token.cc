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
  const std::lock_guard lock(mutex_);
  return num_waiting_;
}

RunToken::Holder::Holder(RunToken& token, Access access, const char* what)
    : token_(token), access_(access), outer_(held_) {
  token_.check_not_held(what);
  {
    std::unique_lock lock(token_.mutex_);
    const int more = access >= Access::kExclusive ? 1 : 0;
    ++token_.num_waiting_;
    token_.num_waiting_for_more_ += more;
    token_.changed_.wait(lock, [&] { return token_.may_enter(access); });
    --token_.num_waiting_;
    token_.num_waiting_for_more_ -= more;
    ++token_.holders(access);
  }
  held_ = this;
}

RunToken::Holder::~Holder() {
  held_ = outer_;
  // Under the lock: the next holder may be the one that destroys the token.
  const std::lock_guard lock(token_.mutex_);
  --token_.holders(access_);
  token_.changed_.notify_all();
}

bool RunToken::may_enter(Access access) {
  if (holders(Access::kAlone) > 0) return false;
  if (access == Access::kNone) return true;
  if (holders(Access::kExclusive) > 0) return false;
  if (access == Access::kShared) return num_waiting_for_more_ == 0;
  if (holders(Access::kShared) > 0) return false;
  return access == Access::kExclusive || holders(Access::kNone) == 0;
}

}  // namespace crochet::local
