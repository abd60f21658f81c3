// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace digits {

struct Options {
  int hidden = 128;
  int batch = 32;
  int64_t steps = 2000;
  std::string dir = "runs/digits";
  // At most one of the two is set.
  std::optional<int64_t> save_steps = {};
  std::optional<double> save_secs = {};
  uint64_t seed = 1;
  float learning_rate = 3e-3f;
  std::string data = {};
};

// An invalid command line; what() is one line.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Returns nothing if the help was requested, and printed. Throws: UsageError.
std::optional<Options> parse_options(int argc, const char* const* argv);

}  // namespace digits
