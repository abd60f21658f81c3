// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "crochet/loop/step.h"

namespace crochet::inline v0::internal {

// The body of a loop, or one of its two parts.
using LoopBody = std::function<LoopAction(Step&)>;

// Of a callable that takes a step.
template <typename Callable>
LoopBody body_of_step(Callable callable) {
  using Result = std::remove_cvref_t<std::invoke_result_t<Callable&, Step&>>;
  if constexpr (std::is_same_v<Result, LoopAction>) {
    return callable;
  } else if constexpr (std::is_same_v<Result, bool>) {
    return [callable = std::move(callable)](Step& step) mutable {
      if (!callable(step)) step.request_stop("the body returned false");
      return LoopAction::kContinue;
    };
  } else {
    static_assert(std::is_void_v<Result>,
                  "the body of a loop returns nothing, a crochet::LoopAction, or a bool (false "
                  "ends the run); of other results crochet cannot know what they mean");
    return [callable = std::move(callable)](Step& step) mutable {
      callable(step);
      return LoopAction::kContinue;
    };
  }
}

// Of a callable that takes nothing or a step.
template <typename Callable>
LoopBody body_of(Callable callable) {
  if constexpr (std::is_invocable_v<Callable&, Step&>) {
    return body_of_step(std::move(callable));
  } else {
    static_assert(std::is_invocable_v<Callable&>,
                  "crochet calls the body of a loop without arguments, or with a Step&");
    return body_of_step([callable = std::move(callable)](Step&) mutable { return callable(); });
  }
}

}  // namespace crochet::inline v0::internal
