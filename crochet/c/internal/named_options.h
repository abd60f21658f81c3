// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "crochet/base/internal/export.h"
#include "crochet/loop/loop_options.h"

namespace crochet::inline v0::internal {

// Sets an option by its path, "checkpoint.every_steps", to a value in text, for programs in other
// languages: numbers, texts, and "true" or "false". Options that are objects cannot be set so.
// Throws: InvalidArgumentError for an unknown path, with all that there are, and for a text that is
// no such value.
CROCHET_EXPORT void set_option(LoopOptions& options, std::string_view path,
                               const std::string& text);

// A hook by its name and what c.h says of its argument. Throws: as set_option().
CROCHET_EXPORT HookHandle named_hook(std::string_view name, const std::string& argument);

}  // namespace crochet::inline v0::internal
