// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/store_ranks.h"
#include "crochet/tracking/sharded.h"

namespace crochet {

inline constexpr int64_t kColumns = 3;
// Far more than the time that passes on the fake clock while the chief waits for parts.
inline constexpr double kTimeoutSecs = 1e6;

// The rows of a rank, whose numbers differ by one at most.
struct Rows {
  int64_t first;
  int64_t count;
};
inline Rows rows_of(int rank, int size, int64_t num_rows) {
  const auto first = [&](int64_t r) { return r * num_rows / size; };
  return {first(rank), first(rank + 1) - first(rank)};
}

// Part of a field whose elements are (row, column, number of steps), and what goes with it.
struct Part {
  Part(int rank, int size, int64_t num_rows)
      : rows(rows_of(rank, size, num_rows)),
        full_rows(num_rows),
        field(static_cast<size_t>(rows.count)) {
    for (int64_t row = 0; row < rows.count; ++row)
      for (int64_t column = 0; column < kColumns; ++column)
        at(row, column) = value(rows.first + row, column, 0);
  }
  static double value(int64_t row, int64_t column, int64_t steps) {
    return static_cast<double>(10'000 * row + 100 * column + steps);
  }
  double& at(int64_t row, int64_t column) {
    return field[static_cast<size_t>(row)][static_cast<size_t>(column)];
  }
  void step() {
    ++count;
    for (auto& row : field)
      for (double& element : row) ++element;
  }
  Shard shard() const { return {.full_shape = {full_rows, kColumns}, .offset = {rows.first, 0}}; }
  bool is_after(int64_t steps) {
    for (int64_t row = 0; row < rows.count; ++row)
      for (int64_t column = 0; column < kColumns; ++column)
        if (at(row, column) != value(rows.first + row, column, steps)) return false;
    return count == steps;
  }
  void track(Tracker& tracker) { tracker("field", sharded(field, shard()))("count", count); }

  Rows rows;
  int64_t full_rows;
  std::vector<std::array<double, kColumns>> field;
  int64_t count = 0;
};

// How a rank ended.
struct RankOutcome {
  std::optional<RunReport> report;
  std::string error;  // Empty without one.
  Code code = {};
};

// What a program in each rank has.
struct RankProgram {
  Group& group;
  LoopOptions options;
  Part part;
  std::function<void(Loop&)> track = [](Loop&) {};
  std::function<void(Step&)> body = [](Step&) {};
  std::function<void(Loop&)> instead_of_run = nullptr;
  bool tracks_part = true;

  int rank() const { return group.rank(); }
};

// Runs a program in each rank of a group; ranks are threads.
class ShardedStateTest : public testing::Test {
 protected:
  ~ShardedStateTest() override { set_pending_signal(0); }

  std::vector<RankOutcome> run(
      int size, int64_t last_step,
      const std::function<void(RankProgram&)>& change = [](RankProgram&) {}) {
    std::vector<RankOutcome> outcomes(static_cast<size_t>(size));
    StoreRanks ranks(size, /*timeout_secs=*/60);
    ranks.run([&](const std::shared_ptr<Group>& group) {
      RankOutcome& outcome = outcomes[static_cast<size_t>(group->rank())];
      RankProgram program = {.group = *group,
                             .options = {.checkpoint = {.dir = directory_, .every_steps = 5},
                                         .summaries = {.every_steps = 0, .count_every_steps = 0},
                                         .ranks = {.group = group, .timeout_secs = kTimeoutSecs},
                                         .hooks = {StopAtStepHook({.last_step = last_step})},
                                         .files = &files_,
                                         .clock = &clock_},
                             .part = Part(group->rank(), size, num_rows_)};
      change(program);
      try {
        Loop loop(program.options);
        if (program.tracks_part) loop.track("part", program.part);
        program.track(loop);
        if (program.instead_of_run) return program.instead_of_run(loop);
        outcome.report = loop.run([&](Step& step) {
          program.body(step);
          program.part.step();
        });
        if (program.tracks_part) {
          EXPECT_TRUE(program.part.is_after(outcome.report->last_step)) << "rank " << group->rank();
        }
      } catch (const Error& error) {
        outcome.error = error.what();
        outcome.code = error.code();
      } catch (const std::exception& error) {
        outcome.error = error.what();
      }
    });
    return outcomes;
  }

  static void expect_all_end_at(const std::vector<RankOutcome>& outcomes, int64_t step) {
    for (size_t rank = 0; rank < outcomes.size(); ++rank) {
      SCOPED_TRACE(fmt::format("rank {}: {}", rank, outcomes[rank].error));
      ASSERT_TRUE(outcomes[rank].report);
      EXPECT_EQ(outcomes[rank].report->last_step, step);
    }
  }

  // A job whose programs call this instead of Loop::run().
  void run_each(int size, int64_t last_step, const std::function<void(RankProgram&, Loop&)>& call) {
    const std::vector<RankOutcome> outcomes = run(size, last_step, [&](RankProgram& program) {
      program.instead_of_run = [&](Loop& loop) { call(program, loop); };
    });
    for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.error, "");
  }

  // Their steps.
  std::vector<std::string> checkpoints() {
    std::vector<std::string> steps;
    for (const std::string& prefix : list_checkpoints(files_, directory_, "model.ckpt"))
      steps.push_back(prefix.substr(prefix.rfind('-') + 1));
    return steps;
  }
  // Of the whole field in a checkpoint.
  void expect_checkpoint(int64_t step) {
    const CheckpointReader reader(fmt::format("{}/model.ckpt-{}", directory_, step), files_);
    const Tensor field = reader.read("part/field");
    ASSERT_EQ(field.shape(), (Shape{num_rows_, kColumns}));
    for (int64_t row = 0; row < num_rows_; ++row)
      for (int64_t column = 0; column < kColumns; ++column)
        ASSERT_EQ(field.flat<double>()[static_cast<size_t>(row * kColumns + column)],
                  Part::value(row, column, step))
            << row << "," << column;
    EXPECT_EQ(reader.read("part/count").scalar<int64_t>(), step);
  }
  std::vector<std::string> leftovers() {
    return list_leftovers(files_, directory_, "model.ckpt", "checkpoint");
  }

  std::string directory_ = "run";
  int64_t num_rows_ = 24;
  MemoryFileSystem files_;
  FakeClock clock_;
  LogCapture log_;
};

}  // namespace crochet
