// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet::types {

// Saves a value by a Loop, and restores it by another one.
class TypesTest : public testing::TestWithParam<CheckpointFormat> {
 protected:
  LoopOptions options() {
    return {.checkpoint = {.dir = "run", .saver = {.format = GetParam()}},
            .summaries = {.every_steps = 0, .count_every_steps = 0},
            .hooks = {StopAtStepHook({.last_step = 1})},
            .files = &files_};
  }
  template <typename T>
  void save(T&& value) {
    Loop loop(options());
    loop.track("it", std::forward<T>(value));
    loop.run([] {});
  }
  template <typename T>
  void restore(T&& value) {
    Loop loop(options());
    loop.track("it", std::forward<T>(value));
    EXPECT_EQ(loop.restore(), 1);
  }
  CheckpointReader checkpoint() { return CheckpointReader("run/model.ckpt-1", files_); }
  // Of the tensors of the value, without its own.
  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const auto& [name, info] : checkpoint().tensors())
      if (name.starts_with("it")) names.push_back(name.substr(std::min<size_t>(3, name.size())));
    return names;
  }

  MemoryFileSystem files_;
  LogCapture log_;
};

inline auto formats() {
  return testing::Values(CheckpointFormat::kTensorBundle, CheckpointFormat::kSafetensors);
}
inline std::string format_name(const testing::TestParamInfo<CheckpointFormat>& info) {
  return info.param == CheckpointFormat::kTensorBundle ? "Bundle" : "Safetensors";
}

}  // namespace crochet::types
