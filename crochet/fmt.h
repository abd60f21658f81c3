// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Formatters of crochet's types for {fmt}. Nothing else in the public headers needs {fmt}, so a
// program without it, or with a version of its own, never meets crochet's.

#include <string>

#include <fmt/format.h>

#include "crochet/loop/run_report.h"
#include "crochet/tensor/internal/fmt.h"

template <>
struct fmt::formatter<crochet::RunReport> : fmt::formatter<std::string> {
  auto format(const crochet::RunReport& report, fmt::format_context& context) const {
    return fmt::formatter<std::string>::format(crochet::to_string(report), context);
  }
};
