// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tools/run_model.h"

namespace crochet::tool {

// A run of a folder, under its path within it; "." is the folder itself.
struct NamedRun {
  std::string name;
  RunHistory history;
};

// The runs in Prometheus' text format, version 0.0.4: see docs/command.md.
std::string prometheus_text(const std::vector<NamedRun>& runs);

}  // namespace crochet::tool
