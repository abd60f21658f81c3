// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tools/command.h"
#include "tools/run_end.h"

namespace crochet::tool {

// `crochet runs`: prints a line for each run at or below a directory.
int list_runs(const Context& context, const std::string& directory, const Machine& machine);

}  // namespace crochet::tool
