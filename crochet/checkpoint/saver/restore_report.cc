// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crochet/base/internal/escape.h"
#include "crochet/checkpoint/saver/restore_options.h"

namespace crochet::inline v0 {
namespace {

// Otherwise a checkpoint of another program would fill pages.
constexpr size_t kMaxNames = 10;

void add_names(std::string& line, const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return;
  const auto shown = names.begin() + static_cast<ptrdiff_t>(std::min(names.size(), kMaxNames));
  line += fmt::format(", {} {} ({}{})", names.size(), what, fmt::join(names.begin(), shown, ", "),
                      names.size() > kMaxNames ? ", ..." : "");
}

}  // namespace

std::string to_string(const RestoreReport& report) {
  std::string line = fmt::format("{}: {} restored", report.prefix, report.restored.size());
  if (!report.renamed.empty())
    line += fmt::format(", {} of them from other names", report.renamed.size());
  add_names(line, "reshaped", report.reshaped);
  add_names(line, "converted", report.converted);
  add_names(line, "kept as the program has them", report.kept);
  add_names(line, "missing", report.missing);
  add_names(line, "surplus", report.surplus);
  for (const RefusedCheckpoint& refused : report.refused)
    line += fmt::format("; {} was refused: {}", refused.prefix, refused.reason);
  return internal::escape_text(line);
}

std::ostream& operator<<(std::ostream& out, const RestoreReport& report) {
  return out << to_string(report);
}

}  // namespace crochet::inline v0
