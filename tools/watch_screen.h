// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tools/run_model.h"

namespace crochet::tool {

struct ScreenSize {
  int columns = 80;
  int rows = 24;
};

// What `crochet watch` shows at the time `now`: as many lines as the screen has rows, none wider.
// `scroll`: by how many lines the story is moved up from its end; at most what there is, which it
// becomes.
std::vector<std::string> watch_screen(const RunHistory& history, double now, ScreenSize size,
                                      int& scroll);

}  // namespace crochet::tool
