// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet::inline v0 {

// For tests of what a restore does to a value that differs from the one that was saved.
class RestoresTest : public testing::Test {
 protected:
  // The name of the value in the checkpoint.
  explicit RestoresTest(std::string name) : name_(std::move(name)) {}

  template <typename T>
  void save(T value) {
    files_ = std::make_unique<MemoryFileSystem>();
    run({}, value);
  }
  // What `value` becomes when it is restored.
  template <typename T>
  T restored(T value, const RestoreOptions& restore = {}) {
    report_ = *run(restore, value).restore;
    return value;
  }
  template <typename T>
  RunReport run(const RestoreOptions& restore, T& value) {
    Loop loop({.checkpoint = {.dir = "run"},
               .restore = restore,
               .hooks = {StopAtStepHook({.last_step = 2})},
               .files = files_.get()});
    loop.track(name_, value);
    return loop.run([] {});
  }

  const std::string name_;
  LogCapture log_;
  std::unique_ptr<MemoryFileSystem> files_;
  RestoreReport report_;
};

}  // namespace crochet::inline v0
