// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tools/command.h"
#include "tools/run_end.h"

namespace crochet::tool {

// The command `crochet why`, for a machine that may be another one than this.
int explain_end(const Context& context, const std::string& directory, const Machine& machine);

}  // namespace crochet::tool
