// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace crochet::tool {

// The lines of the kernel's log since the machine started; empty if this user may not read it.
std::vector<std::string> kernel_log();

}  // namespace crochet::tool
