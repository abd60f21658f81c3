// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/name_filter.h"

#include <algorithm>
#include <cctype>
#include <string_view>

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

std::string ignore_option(const std::string& name) {
  std::string glob, quoted;
  for (const char c : name)
    glob +=
        (std::string_view("*?[\\").find(c) != std::string::npos ? "\\" : "") + std::string(1, c);
  for (const char c : glob) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  const bool is_plain = !glob.empty() && std::ranges::all_of(glob, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("/._-+:,@%").find(static_cast<char>(c)) != std::string::npos;
  });
  return "--ignore " + (is_plain ? glob : "'" + quoted + "'");
}

void add_repeated_option(CLI::App& command, const char* name, std::vector<std::string>& values,
                         const char* type, const char* help) {
  command.add_option(name, values, help)
      ->type_name(type)
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

void add_filter_options(CLI::App& command, NameFilter& filter) {
  add_repeated_option(command, "--only", filter.only, "GLOB",
                      "Only tensors whose names match; may be repeated");
  add_repeated_option(command, "--ignore", filter.ignore, "GLOB",
                      "Omit tensors whose names match; may be repeated");
}

}  // namespace crochet::tool
