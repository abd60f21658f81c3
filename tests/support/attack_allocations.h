// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// For tests of whole runs while memory is short: their allocations fail in turn.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "crochet/testing/allocation_counter.h"
#include "crochet/testing/temp_directory.h"

namespace crochet::inline v0 {

// Temporary directories in memory where the machine can have them: for tests that make hundreds.
class DirectoriesInMemory {
 public:
  DirectoriesInMemory() {
    if (::access("/dev/shm", W_OK) == 0) ::setenv("TMPDIR", "/dev/shm", 1);
  }
  ~DirectoriesInMemory() {
    if (former_place_)
      ::setenv("TMPDIR", former_place_->c_str(), 1);
    else
      ::unsetenv("TMPDIR");
  }
  DirectoriesInMemory(const DirectoriesInMemory&) = delete;
  DirectoriesInMemory& operator=(const DirectoriesInMemory&) = delete;

 private:
  const std::optional<std::string> former_place_ =
      std::getenv("TMPDIR") ? std::optional<std::string>(std::getenv("TMPDIR")) : std::nullopt;
};

// Makes `length` allocations in a row fail, beginning at about `num_places` places of `run`.
// However that ends, the process lives on, and `resumes`, which runs in the same directory with all
// the memory that it needs, must return true.
inline void attack_allocations(int64_t length, int64_t num_places,
                               const std::function<void(const std::string& directory)>& run,
                               const std::function<bool(const std::string& directory)>& resumes) {
  const DirectoriesInMemory in_memory;
  int64_t num_failed = 0;
  const auto run_short_of_memory = [&](const std::string& directory, int64_t first) {
    const FailingAllocations failing(first, length);
    std::thread([&] {
      try {
        run(directory);
      } catch (const std::exception&) {
        ++num_failed;
      }
    }).join();
    return failing.count();
  };
  int64_t count = 0;
  {
    const TempDirectory directory;
    count = run_short_of_memory(directory / "run", std::numeric_limits<int64_t>::max() / 2);
  }
  ASSERT_EQ(num_failed, 0);
  const int64_t stride = std::max<int64_t>(1, count / num_places);
  for (int64_t first = 0; first < count; first += stride) {
    const TempDirectory directory;
    run_short_of_memory(directory / "run", first);
    EXPECT_TRUE(resumes(directory / "run")) << "after allocation " << first;
  }
  EXPECT_GT(num_failed, num_places / 10);
}

}  // namespace crochet::inline v0
