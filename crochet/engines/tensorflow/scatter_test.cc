// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Snapshots during updates of rows, which TensorFlow makes in place.
#include <atomic>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/crochet.h"
#include "crochet/testing/temp_directory.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet::tensorflow {
namespace {

using testing::Each;

class ScatterTest : public testing::Test {
 protected:
  // A step adds 1 to every row of every table, half a table at a time.
  void step() { it_.session->run(it_.graph.operation("change_all")); }
  void change_rows(const std::vector<int32_t>& ids) {
    it_.session->run(it_.graph.operation("change_rows"),
                     {{it_.graph.output("ids"), Tensor::from<int32_t>(ids)}});
  }

  InitializedGraph it_{"scatter"};
  const std::vector<Variable> tables_ = {it_.variable("resource_a"), it_.variable("resource_b"),
                                         it_.variable("reference_a"), it_.variable("reference_b")};
};

void expect_all(const Snapshot& snapshot, float value) {
  for (const auto& [name, tensor] : snapshot.tensors())
    EXPECT_THAT(tensor.flat<float>(), Each(value)) << name;
}

TEST_F(ScatterTest, ASnapshotDoesNotChange) {
  step();
  const Snapshot before = it_.session->snapshot(tables_);
  for (int i = 0; i < 5; ++i) {
    change_rows({0, 63, 7});
    const Snapshot between = it_.session->snapshot(tables_);  // Held together with the first.
    step();
    EXPECT_EQ(between.tensors()[0].tensor.flat<float>()[0], 2 + 2 * static_cast<float>(i));
  }
  expect_all(before, 1);
  const Tensor resource = it_.value("resource_a");
  const Tensor reference = it_.value("reference_a");
  EXPECT_EQ(resource.flat<float>()[0], 11);
  EXPECT_EQ(reference.flat<float>()[8], 6);
}

TEST_F(ScatterTest, ASnapshotIsOfOneStepWhileOthersTrain) {
  constexpr int kSteps = 300;
  std::atomic<bool> is_done = false;
  std::thread trainer([&] {
    for (int i = 0; i < kSteps; ++i) step();
    is_done = true;
  });
  std::vector<std::pair<float, Snapshot>> held;
  while (!is_done) {
    const Snapshot snapshot = it_.session->snapshot(tables_);
    const float step = snapshot.tensors().front().tensor.flat<float>()[0];
    expect_all(snapshot, step);
    if (held.size() < 20) held.emplace_back(step, snapshot);
  }
  trainer.join();
  for (const auto& [step, snapshot] : held) expect_all(snapshot, step);
  expect_all(it_.session->snapshot(tables_), kSteps);
}

TEST_F(ScatterTest, ACheckpointIsOfOneStepWhileTrainingContinues) {
  constexpr int kSaves = 6;
  const TempDirectory directory;
  Saver saver({.max_to_keep = 0});
  for (int i = 0; i < kSaves; ++i) {
    step();
    saver.save_async(*it_.session, directory / "m", read_global_step(*it_.session));
    for (int k = 0; k < 4; ++k) step();  // While it is being written.
  }
  saver.wait();
  for (int i = 0; i < kSaves; ++i) {
    const int saved_step = 5 * i + 1;
    const CheckpointReader reader(fmt::format("{}-{}", directory / "m", saved_step));
    for (const Variable& table : tables_) {
      const Tensor saved = reader.read(table.name());
      EXPECT_THAT(saved.flat<float>(), Each(static_cast<float>(saved_step))) << table.name();
    }
  }
}

}  // namespace
}  // namespace crochet::tensorflow
