// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tools/command.h"
#include "tools/run_model.h"

namespace crochet::tool {

// What `crochet report` prints: a page in HTML, made at the time `now`, and the same as text.
std::string report_page(const RunHistory& history, double now);
std::string report_text(const RunHistory& history);

}  // namespace crochet::tool
