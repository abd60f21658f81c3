// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace crochet::tool {

// What a program has written into a folder. Paths are relative to it.
struct WrittenFiles {
  std::set<std::string> runs = {};    // Directories with checkpoints; "." is the folder itself.
  std::set<std::string> files = {};   // Those that are not crochet's own.
  std::set<std::string> curves = {};  // Files metrics.jsonl.
};

// Symbolic links are not followed, and are not among them. Throws: the system's errors.
WrittenFiles written_files(const std::string& folder);

// Whether two files have the same bytes. Throws: the system's errors.
bool have_same_bytes(const std::string& a, const std::string& b);

// The values in a metrics.jsonl by step and tag, as text, without those that a resumed run
// withdrew, and without those that differ from run to run: times, rates, and the curves of saves.
// Throws: DataLossError for a file that is not one; the system's errors.
std::map<std::pair<int64_t, std::string>, std::string> read_curves(const std::string& path);

}  // namespace crochet::tool
