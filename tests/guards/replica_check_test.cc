// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks whose states differ are found, and named. The ranks are threads here.
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/hooks/guards/replica_check_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/ranks/ranks.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/store_ranks.h"
#include "crochet/tracking/sharded.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

struct Model {
  std::vector<float> weights = std::vector<float>(50);
  std::vector<std::vector<double>> layers = {std::vector<double>(10), std::vector<double>(20)};
  std::string text = "text";
  double own = 0;  // Of each rank.

  void step() {
    for (size_t i = 0; i < weights.size(); ++i) weights[i] += 0.5f + static_cast<float>(i);
    for (auto& layer : layers)
      for (double& each : layer) each += 1;
  }
  void track(Tracker& tracker) {
    tracker("weights", weights)("layers", layers)("text", text)("own", per_rank(own));
  }
};

class ReplicaCheckTest : public testing::Test {
 protected:
  struct Program {
    int rank;
    Model& model;
  };
  struct Result {
    std::vector<std::string> errors = {};  // By rank.
    std::vector<Model> models = {};
    std::vector<int> recoveries = {};
  };

  // A job that makes 20 steps. `change` is called in each, with its number.
  Result train(int size, const ReplicaCheckHookOptions& options,
               const std::function<void(Step& step, Program program)>& change) {
    Result result{.errors = std::vector<std::string>(static_cast<size_t>(size)),
                  .models = std::vector<Model>(static_cast<size_t>(size)),
                  .recoveries = std::vector<int>(static_cast<size_t>(size))};
    MemoryFileSystem files(clock_);
    StoreRanks ranks(size);
    ranks.run([&](const std::shared_ptr<Group>& group) {
      const auto rank = static_cast<size_t>(group->rank());
      Model& model = result.models[rank];
      model.own = static_cast<double>(rank);
      try {
        Loop loop({.checkpoint = {.dir = "run", .every_steps = 5, .saver = {.max_to_keep = 0}},
                   .summaries = {.every_steps = 0, .count_every_steps = 0},
                   .ranks = {.group = group, .timeout_secs = 60},
                   .hooks = {ReplicaCheckHook(options), StopAtStepHook({.last_step = 20})},
                   .files = &files,
                   .clock = &clock_});
        loop.track("model", model);
        result.recoveries[rank] = loop.run([&](Step& step) {
                                        model.step();
                                        change(step, {group->rank(), model});
                                      })
                                      .recoveries;
      } catch (const Error& error) {
        result.errors[rank] = fmt::format("{}: {}", code_name(error.code()), error.what());
      }
    });
    return result;
  }

  LogCapture log_;
  FakeClock clock_;
};

TEST_F(ReplicaCheckTest, RanksThatAgreeTrain) {
  const Result result = train(3, {.every_n_steps = 5}, [](Step&, Program) {});
  EXPECT_THAT(result.errors, Each(IsEmpty()));
  EXPECT_EQ(result.models[2].weights[0], 10);
}

TEST_F(ReplicaCheckTest, NamesTheOddRankAndTheFirstValue) {
  const Result result = train(3, {.every_n_steps = 5}, [](Step& step, Program program) {
    if (step.number() == 7 && program.rank == 1) program.model.layers[1][3] += 1e-9;
  });
  EXPECT_THAT(result.errors,
              Each(AllOf(HasSubstr("DATA_LOSS"),
                         HasSubstr("after step 10, \"model/layers/1\" of rank 1 differs from that "
                                   "of ranks 0, 2; the ranks last agreed after step 5"))));
}

TEST_F(ReplicaCheckTest, OfTwoRanksNoneIsTheOddOne) {
  const Result result = train(2, {.every_n_steps = 5}, [](Step& step, Program program) {
    if (step.number() == 7 && program.rank == 1) program.model.text = "other";
  });
  EXPECT_THAT(result.errors, Each(HasSubstr("\"model/text\" of rank 1 differs from that of rank 0, "
                                            "and neither are most ranks")));
}

TEST_F(ReplicaCheckTest, OtherValuesAreADifference) {
  const Result result = train(3, {.every_n_steps = 5}, [](Step& step, Program program) {
    if (step.number() == 7 && program.rank == 2) program.model.layers.emplace_back(3);
  });
  EXPECT_THAT(result.errors, Each(HasSubstr("of rank 2 differs from that of ranks 0, 1")));
}

// The checkpoint of step 5 has the difference.
TEST_F(ReplicaCheckTest, GoesBackToWhereTheRanksAgreed) {
  bool has_flipped = false;
  const Result result =
      train(3, {.every_n_steps = 10, .max_rollbacks = 1}, [&](Step& step, Program program) {
        if (step.number() == 3 && program.rank == 0 && !std::exchange(has_flipped, true))
          program.model.weights[7] += 1;
      });
  EXPECT_THAT(result.errors, Each(IsEmpty()));
  EXPECT_THAT(result.recoveries, Each(1));
  const Result sound = train(3, {}, [](Step&, Program) {});
  for (const Model& model : result.models) EXPECT_EQ(model.weights, sound.models[0].weights);
}

// A program error: it happens again.
TEST_F(ReplicaCheckTest, EndsIfTheyDifferAgain) {
  const Result result =
      train(3, {.every_n_steps = 5, .max_rollbacks = 2}, [&](Step& step, Program program) {
        if (step.number() == 7 && program.rank == 0) program.model.weights[7] += 1;
      });
  EXPECT_THAT(result.errors, Each(HasSubstr("the run went back 2 times and ends")));
}

TEST_F(ReplicaCheckTest, ComparesTheChosenValues) {
  const Result result =
      train(3, {.every_n_steps = 5, .values = {"model/weights"}}, [](Step& step, Program program) {
        if (step.number() == 7 && program.rank == 1) program.model.layers[1][3] += 1;
      });
  EXPECT_THAT(result.errors, Each(IsEmpty()));
}

TEST_F(ReplicaCheckTest, AProgramThatRunsAloneComparesNothing) {
  Model model;
  Loop loop({.hooks = {ReplicaCheckHook({.every_n_steps = 1}), StopAtStepHook({.last_step = 3})}});
  loop.track("model", model);
  loop.run([&] { model.step(); });
  EXPECT_EQ(model.weights[0], 1.5);
}

TEST_F(ReplicaCheckTest, RefusesOptions) {
  EXPECT_THROW(ReplicaCheckHook({.every_n_steps = 0}), InvalidArgumentError);
  EXPECT_THROW(ReplicaCheckHook({.values = false}), InvalidArgumentError);
  EXPECT_THROW(ReplicaCheckHook({.max_rollbacks = -1}), InvalidArgumentError);
}

// 100 of 100, at any place.
TEST_F(ReplicaCheckTest, FindsEachBitThatFlips) {
  std::mt19937 random(7);
  for (int i = 0; i < 100; ++i) {
    const int rank = static_cast<int>(random() % 3);
    const int64_t at = 1 + static_cast<int64_t>(random() % 19);
    const uint32_t place = random();
    const Result result = train(3, {.every_n_steps = 1}, [&](Step& step, Program program) {
      if (step.number() != at || program.rank != rank) return;
      Model& model = program.model;
      const std::array<std::span<std::byte>, 3> arrays = {
          std::as_writable_bytes(std::span(model.weights)),
          std::as_writable_bytes(std::span(model.layers[0])),
          std::as_writable_bytes(std::span(model.layers[1]))};
      const std::span<std::byte> bytes = arrays[place % arrays.size()];
      bytes[(place / 3) % bytes.size()] ^= std::byte(1 << (place / 1000) % 8);
    });
    EXPECT_THAT(result.errors, Each(HasSubstr(fmt::format("after step {}, ", at)))) << i;
    EXPECT_THAT(result.errors, Each(HasSubstr(fmt::format("of rank {} differs", rank)))) << i;
  }
}

}  // namespace
}  // namespace crochet
