// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace crochet::inline v0::internal {

// What the braces of `Saver({})` become: without a constructor for it, they could be options or
// another Saver.
enum class NoOptions {};

}  // namespace crochet::inline v0::internal
