// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/run_token.h"

#include "crochet/base/error.h"

namespace crochet::local {

RunToken::Holder::Holder(RunToken& token, const char* what) : token_(token) {
  std::unique_lock lock(token_.mutex_);
  if (token_.owner_ == std::this_thread::get_id())
    throw FailedPreconditionError("{} was called from within an operation of the same session",
                                  what);
  token_.returned_.wait(lock, [&] { return token_.owner_ == std::thread::id(); });
  token_.owner_ = std::this_thread::get_id();
}

RunToken::Holder::~Holder() {
  {
    const std::lock_guard lock(token_.mutex_);
    token_.owner_ = {};
  }
  token_.returned_.notify_one();
}

}  // namespace crochet::local
