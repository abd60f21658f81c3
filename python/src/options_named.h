// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "crochet/loop/loop_options.h"

namespace crochet::python {

// Options by their paths in C++. Throws: as set_option() of crochet/c/internal/named_options.h.
LoopOptions options_named(const std::map<std::string, std::string>& given);

}  // namespace crochet::python
