// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/name_filter.h"

#include <algorithm>

#include <fnmatch.h>

namespace crochet::tool {

bool matches_glob(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

bool NameFilter::takes(const std::string& name) const {
  const auto matches = [&](const std::string& pattern) { return matches_glob(pattern, name); };
  return (only.empty() || std::ranges::any_of(only, matches)) &&
         std::ranges::none_of(ignore, matches);
}

void add_filter_options(CLI::App& command, NameFilter& filter) {
  command.add_option("--only", filter.only, "Only tensors whose names match; may be repeated")
      ->type_name("GLOB")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  command.add_option("--ignore", filter.ignore, "Omit tensors whose names match; may be repeated")
      ->type_name("GLOB")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

}  // namespace crochet::tool
