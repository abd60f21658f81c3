// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A body that ends its thread, which is not an exception.
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include "crochet/base/error.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/temp_directory.h"
#include "crochet/training/session_run_hook.h"

namespace crochet {
namespace {

class KeptErrors final : public SessionRunHook {
 public:
  explicit KeptErrors(std::string& errors) : errors_(errors) {}
  void on_error(std::exception_ptr error) override { errors_ += describe(error); }

 private:
  std::string& errors_;
};

class Destroyed {
 public:
  explicit Destroyed(bool& flag) : flag_(flag) {}
  ~Destroyed() { flag_ = true; }
  Destroyed(const Destroyed&) = delete;
  Destroyed& operator=(const Destroyed&) = delete;

 private:
  bool& flag_;
};

TEST(ThreadExitTest, ABodyThatEndsItsThreadEndsTheRunAndTheNextOneContinues) {
  const TempDirectory directory;
  std::string errors;
  bool is_destroyed = false;
  int64_t count = 0;
  const auto train = [&](int64_t ends_at) {
    Loop loop({.checkpoint = {.dir = directory.path(), .every_steps = 1},
               .hooks = {StopAtStepHook({.last_step = 10}), std::make_shared<KeptErrors>(errors)}});
    loop.track("count", count);
    const RunReport report = loop.run([&](Step& step) {
      const Destroyed in_body(is_destroyed);
      if (step.number() == ends_at) ::pthread_exit(nullptr);
      ++count;
    });
    EXPECT_EQ(report.resumed_from, 4);
  };
  std::thread([&] { train(5); }).join();
  EXPECT_TRUE(is_destroyed);
  EXPECT_THAT(errors, testing::HasSubstr("destroyed without close()"));
  EXPECT_EQ(std::exchange(count, 0), 4);
  train(/*ends_at=*/-1);
  EXPECT_EQ(count, 10);
}

}  // namespace
}  // namespace crochet
