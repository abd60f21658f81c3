// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace crochet::tool {

// True if a shell pattern (*, ?, [a-z], \ to quote a character) matches the whole name.
// "*" matches slashes too.
bool matches_glob(const std::string& pattern, const std::string& name);

// Selects the tensors that match one of `only` (all, if it is empty) and
// none of `ignore`.
struct NameFilter {
  std::vector<std::string> only = {};
  std::vector<std::string> ignore = {};

  bool takes(const std::string& name) const;
};

// The option that omits exactly this name, for a shell: "--ignore args", "--ignore 'a\\*b'".
std::string ignore_option(const std::string& name);

// Adds an option that may be given again, each time with one value.
void add_repeated_option(CLI::App& command, const char* name, std::vector<std::string>& values,
                         const char* type, const char* help);

// Adds --only and --ignore.
void add_filter_options(CLI::App& command, NameFilter& filter);

}  // namespace crochet::tool
