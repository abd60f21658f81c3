// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/monitor/session_run_hook.h"

namespace crochet {

// A hook in a list: made from a temporary, which it takes over, or from a
// shared_ptr, for hooks whose results are read afterwards. A named hook does not
// convert, since a copy would lose its results: use std::make_shared.
// Throws: InvalidArgumentError for a null pointer.
class HookHandle {
 public:
  template <typename Hook>
  requires(std::derived_from<std::remove_cvref_t<Hook>, SessionRunHook> &&
           !std::is_lvalue_reference_v<Hook> && !std::is_const_v<Hook>) HookHandle(Hook&& hook)
      : hook_(std::make_shared<Hook>(std::move(hook))) {}

  template <std::derived_from<SessionRunHook> Hook>
  HookHandle(std::shared_ptr<Hook> hook) : hook_(std::move(hook)) {
    if (!hook_) throw InvalidArgumentError("a hook that is a null pointer");
  }

  SessionRunHook* operator->() const { return hook_.get(); }
  SessionRunHook& operator*() const { return *hook_; }

 private:
  std::shared_ptr<SessionRunHook> hook_;
};

using HookList = std::vector<HookHandle>;

}  // namespace crochet
