// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "bare_write.h"
#include "crochet/crochet.h"
#include "random_arrays.h"
#include "save_timeline.h"
#include "timeline_hook.h"
#include "timing.h"

// The exit code that ctest treats as a skipped test.
constexpr int kCannotBeMeasured = 77;

// Prints why if not: not every file system has O_DIRECT, nor every container io_uring.
inline bool can_write_bare(const std::string& directory) {
  std::filesystem::create_directories(directory);
  const std::string path = directory + "/trial";
  try {
    const crochet::Tensor bytes(crochet::DType::kUint8, {1 << 20});
    write_bare(path, bytes.bytes());
    std::filesystem::remove(path);
    return true;
  } catch (const std::runtime_error& error) {
    fmt::print(stderr, "the disk cannot be measured: {}\n", error.what());
    return false;
  }
}

// In place of the saving hook: whenever the timeline requests a save, a thread writes as many bytes
// of other memory without crochet. What training loses to that is the machine's own cost of a save.
class BareWritesHook final : public TimelineHook {
 public:
  // `num_bytes` is rounded up to whole blocks of write_bare().
  BareWritesHook(const SavesToMeasure& options, Timeline& timeline, size_t num_bytes)
      : TimelineHook(timeline),
        options_(options),
        memory_(crochet::DType::kFloat,
                {static_cast<int64_t>((num_bytes + kBareBlockBytes - 1) / kBareBlockBytes *
                                      kBareBlockBytes / sizeof(float))}) {
    uint64_t seed = 2;
    fill_randomly(memory_.mutable_flat<float>(), seed);
  }

 protected:
  Timeline::Save save(crochet::SessionRunContext&) override {
    const auto took = std::make_shared<std::atomic<double>>(0);
    const double start = now();
    writer_ = std::jthread([this, took, start, number = num_files_++] {
      write_bare(fmt::format("{}/bare-{}", options_.dir, number), memory_.bytes());
      *took = now() - start;
    });
    const auto written = [this, took]() -> std::optional<Written> {
      const double seconds = *took;
      if (seconds == 0) return {};
      return Written{seconds, seconds, memory_.bytes().size()};
    };
    return {start, 0, now() - start, written};
  }

 private:
  const SavesToMeasure& options_;
  crochet::Tensor memory_;
  int num_files_ = 0;
  std::jthread writer_;  // Last: joins first.
};
