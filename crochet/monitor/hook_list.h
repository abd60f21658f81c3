// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/base/export.h"
#include "crochet/monitor/session_run_hook.h"

namespace crochet::inline v0 {

// A hook in a list: made from a temporary, which it adopts, or from a shared_ptr, for hooks whose
// results are read afterwards. A named hook does not compile, since its results would be lost with
// the copy.
//
//   const auto stop = std::make_shared<StopAtStepHook>(StopAtStepHookOptions{.num_steps = 10});
//   HookList hooks = {SignalHook({SIGTERM}), stop};
//
// Throws: InvalidArgumentError for a null pointer.
class CROCHET_EXPORT HookHandle {
 public:
  template <typename Hook>
  requires std::derived_from<std::remove_cvref_t<Hook>, SessionRunHook> HookHandle(Hook&& hook) {
    constexpr bool kIsTemporary = !std::is_lvalue_reference_v<Hook> && !std::is_const_v<Hook>;
    static_assert(kIsTemporary,
                  "crochet does not copy a named hook into a list: make it with "
                  "std::make_shared<Hook>(...) and pass the pointer");
    if constexpr (kIsTemporary) hook_ = std::make_shared<Hook>(std::move(hook));
  }

  template <std::derived_from<SessionRunHook> Hook>
  HookHandle(std::shared_ptr<Hook> hook) : hook_(std::move(hook)) {
    if (!hook_) throw InvalidArgumentError("a hook in the list is a null pointer");
  }

  SessionRunHook* operator->() const { return hook_.get(); }
  SessionRunHook& operator*() const { return *hook_; }

 private:
  std::shared_ptr<SessionRunHook> hook_;
};

using HookList = std::vector<HookHandle>;

}  // namespace crochet::inline v0
