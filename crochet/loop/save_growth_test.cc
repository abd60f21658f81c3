// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A thousand saves use no more memory, files and threads than the first few.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "crochet/base/log.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/engines/local/graph.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/monitored_training_session.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tracking/tracker.h"

namespace crochet {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNumSaves = 1000;
constexpr int64_t kNumFirstSaves = 20;
// Training waits for every n-th save; then the resources in use are counted.
constexpr int64_t kCountEvery = 10;
constexpr int kMaxToKeep = 3;

// A directory in memory if the system has one: this many syncs would take long on a disk.
class FastDirectory {
 public:
  FastDirectory() {
    const bool is_there = ::access("/dev/shm", W_OK) == 0;
    path_ = (is_there ? fs::path("/dev/shm") : fs::temp_directory_path()) / "crochet-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~FastDirectory() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

size_t num_entries(const std::string& directory) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

// The resources that the process and its directory use.
struct Usage {
  size_t open_files = 0;
  size_t threads = 0;
  size_t files = 0;
  // Without the buffers of tensors: how many there are depends on whether a save ends before the
  // next step. 0 where a sanitizer keeps the heap.
  size_t heap_bytes = 0;

  static Usage now(const std::string& directory) {
    const auto heap = ::mallinfo2();
    const size_t used = heap.uordblks + heap.hblkhd;
    return {.open_files = num_entries("/proc/self/fd"),
            .threads = num_entries("/proc/self/task"),
            .files = num_entries(directory),
            .heap_bytes = used - std::min(used, buffer_usage().num_bytes)};
  }
  void take_most(const Usage& other) {
    open_files = std::max(open_files, other.open_files);
    threads = std::max(threads, other.threads);
    files = std::max(files, other.files);
    heap_bytes = std::max(heap_bytes, other.heap_bytes);
  }
};

// Counts after saves, while no other one is being written.
class Measure final : public CheckpointSaverListener {
 public:
  explicit Measure(std::string directory) : directory_(std::move(directory)) {}

  bool after_save(Session& session, int64_t step) override {
    ++num_saves;
    last_saved = step;
    if (step % kCountEvery != 0 || read_global_step(session) != step) return false;
    (step <= kNumFirstSaves ? first : later).take_most(Usage::now(directory_));
    ++num_counts;
    return false;
  }

  Usage first;
  Usage later;
  int64_t last_saved = -1;
  int64_t num_saves = 0;
  int64_t num_counts = 0;

 private:
  const std::string directory_;
};

// Drops the log: the lines that a test collects would grow.
class Silence {
 public:
  Silence() : previous_(set_log_callback([](Severity, std::string_view) {})) {}
  ~Silence() { set_log_callback(previous_); }

 private:
  const LogCallback previous_;
};

// State of each kind; every step changes every element and saves it.
class Training {
 public:
  static constexpr size_t kBytes = size_t{128} << 10;  // Of each array.
  // The value, the next value and a third one for a save; a value and its second buffer; the copy;
  // the initial values of two; and a little for numbers.
  static constexpr size_t kMostBytes = (3 + 2 + 1 + 2) * kBytes + 20'000;

  RunReport run(const std::string& directory, CheckpointFormat format,
                const std::shared_ptr<Measure>& measure) {
    const auto scaffold = std::make_shared<Scaffold>();
    scaffold->saver =
        std::make_shared<Saver>(SaverOptions{.format = format, .max_to_keep = kMaxToKeep});
    return train(
        {.graph = graph_,
         .checkpoint_dir = directory,
         .scaffold = scaffold,
         .hooks = {StopAtStepHook({.last_step = kNumSaves})},
         .save_checkpoint_steps = 1,
         .saving_listeners = {measure},
         .save_summaries_steps = 0,
         .log_step_count_steps = 0},
        [&](MonitoredSession& session) {
          while (!session.should_stop()) {
            session.run(step_);
            const int64_t step = *session.current_step();
            // Such a run trains nothing.
            while (step % kCountEvery == 0 && measure->last_saved < step && !session.should_stop())
              session.run("global_step");
          }
        });
  }

 private:
  static constexpr int64_t kElements = kBytes / sizeof(float);

  local::Graph graph_;
  std::array<float, kElements> array_ = {};
  Output step_ = [this] {
    Tracker(graph_, "")("array", array_);
    const auto replaced = graph_.variable("replaced", Tensor::zeros<float>({kElements}));
    const auto updated = graph_.variable("updated", Tensor::zeros<float>({kElements}));
    const auto replace_it = graph_.op(
        "replace", {replace(replaced)}, [](std::span<const float> from, std::span<float> to) {
          std::ranges::transform(from, to.begin(), [](float x) { return x + 1; });
        });
    const auto update_it =
        graph_.op("update", {update(updated)}, [](std::span<float> x) { add_one(x); });
    const auto change =
        graph_.op("change", [this] { add_one(array_); }, {.changes_borrowed = true});
    return graph_.increment_global_step({replace_it, update_it, change});
  }();

  static void add_one(std::span<float> x) {
    for (float& element : x) element += 1;
  }
};

class SaveGrowthTest : public testing::TestWithParam<CheckpointFormat> {};

TEST_P(SaveGrowthTest, AThousandSavesUseNoMoreThanTheFirst) {
  const Silence silence;
  const FastDirectory directory;
  ASSERT_FALSE(directory.path().empty());
  const size_t before = buffer_usage().num_bytes;
  reset_peak_buffer_usage();
  const auto measure = std::make_shared<Measure>(directory.path());
  auto training = std::make_unique<Training>();
  EXPECT_EQ(training->run(directory.path(), GetParam(), measure).last_step, kNumSaves);

  EXPECT_EQ(measure->num_saves, kNumSaves + 1);                 // With that of step 0.
  EXPECT_GE(measure->num_counts, kNumSaves / kCountEvery - 1);  // Except for the last one.
  EXPECT_LE(buffer_usage().peak_num_bytes, before + Training::kMostBytes);
  EXPECT_LE(measure->later.open_files, measure->first.open_files);
  EXPECT_LE(measure->later.threads, measure->first.threads);
  EXPECT_LE(measure->later.files, measure->first.files);
  constexpr size_t kNoise = 32 << 10;  // Of caches that fill.
  EXPECT_LE(measure->later.heap_bytes, measure->first.heap_bytes + kNoise);
  EXPECT_EQ(list_checkpoints(FileSystem::posix(), directory.path(), "model.ckpt").size(),
            size_t{kMaxToKeep});
}

INSTANTIATE_TEST_SUITE_P(Formats, SaveGrowthTest,
                         testing::Values(CheckpointFormat::kTensorBundle,
                                         CheckpointFormat::kSafetensors),
                         [](const auto& info) {
                           return std::string(checkpoint_format_name(info.param));
                         });

}  // namespace
}  // namespace crochet
