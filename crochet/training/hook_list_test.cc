// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/training/session_run_hook.h"

namespace crochet {
namespace {

class PlainHook final : public SessionRunHook {};

// The compiler error for a named hook is tested in tests/refusals.
static_assert(std::is_convertible_v<PlainHook, HookHandle>);
static_assert(std::is_convertible_v<std::shared_ptr<PlainHook>, HookHandle>);
static_assert(std::is_convertible_v<std::shared_ptr<PlainHook>&, HookHandle>);
static_assert(std::is_convertible_v<std::shared_ptr<SessionRunHook>, HookHandle>);
static_assert(!std::is_convertible_v<int, HookHandle>);
static_assert(!std::is_convertible_v<std::shared_ptr<int>, HookHandle>);

TEST(HookListTest, AcceptsTemporariesAndSharedHooks) {
  const auto shared = std::make_shared<PlainHook>();
  const HookList hooks = {PlainHook(), shared};
  EXPECT_EQ(&*hooks[1], shared.get());
  EXPECT_EQ(hooks[0]->name(), "PlainHook");
}

TEST(HookListTest, RejectsANullPointer) {
  EXPECT_THROW(HookHandle(std::shared_ptr<PlainHook>()), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
