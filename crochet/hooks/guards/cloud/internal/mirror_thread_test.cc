// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/cloud/internal/mirror_thread.h"

#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/rehearsal.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/hooks/guards/cloud/mirror_hook.h"
#include "crochet/hooks/internal/saved_place.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "tests/support/memory_store.h"
#include "tests/support/wait_until.h"

namespace crochet::inline v0::cloud::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

class MirrorThreadTest : public testing::Test {
 protected:
  MirrorThreadTest() { files_.create_directories("run"); }

  void write(int step, float value = 0) {
    const std::string prefix = fmt::format("run/m-{}", step);
    crochet::internal::BundleWriter writer(files_, prefix);
    writer.add("w", Tensor::scalar(value));
    writer.finish();
    write_sidecar(files_, prefix, {.step = step, .unix_time = ++time_});
  }
  MirrorTask task(int max_to_keep = 5) {
    return {.directory = "run",
            .basename = "m",
            .files = files_,
            .store = store_,
            .place = parse_s3_url("s3://bucket/run"),
            .max_to_keep = max_to_keep,
            .num_parallel = 2,
            .journal = nullptr};
  }
  std::vector<std::string> copied() {
    std::vector<std::string> names;
    for (const Mirror::Copy& copy :
         Mirror(*store_, parse_s3_url("s3://bucket/run"), clock_).list({}))
      names.push_back(copy.manifest->checkpoint);
    return names;
  }

  double time_ = 0;
  MemoryFileSystem files_;
  FakeClock clock_;
  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
};

TEST_F(MirrorThreadTest, CopiesWhatIsPublished) {
  MirrorThread thread(task(), clock_);
  thread.start();
  for (int step = 1; step <= 3; ++step) {
    write(step);
    thread.wake();
    wait_until("a copy", [&] { return copied().size() == static_cast<size_t>(step); });
  }
  thread.finish(60);
  EXPECT_THAT(copied(), ElementsAre("m-1", "m-2", "m-3"));
  EXPECT_EQ(thread.activity(), "");
}

TEST_F(MirrorThreadTest, TheEndCopiesTheRest) {
  for (int step = 1; step <= 4; ++step) write(step);
  MirrorThread thread(task(2), clock_);
  thread.start();
  thread.finish(60);
  EXPECT_THAT(copied(), ElementsAre("m-3", "m-4"));
}

TEST_F(MirrorThreadTest, WhatTheStoreHasIsNotCopiedAgain) {
  write(1);
  {
    MirrorThread thread(task(), clock_);
    thread.start();
    thread.finish(60);
  }
  const auto keys = store_->keys();
  MirrorThread thread(task(), clock_);
  thread.start();
  thread.finish(60);
  EXPECT_EQ(store_->keys(), keys);
}

TEST_F(MirrorThreadTest, AnOldCheckpointThatWouldNotStayIsNotCopied) {
  for (int step = 1; step <= 3; ++step) write(step);
  const auto run_once = [this] {
    MirrorThread thread(task(2), clock_);
    thread.start();
    thread.finish(60);
  };
  run_once();
  remove_checkpoint(files_, "run/m-2");  // The run keeps its best one, and the newest.
  std::vector<std::string> put;
  store_->before = [&](const std::string& operation) {
    if (operation.starts_with("put")) put.push_back(operation);
  };
  run_once();
  EXPECT_THAT(put, IsEmpty());
  set_pinned(files_, "run/m-1", true);
  run_once();
  EXPECT_THAT(copied(), ElementsAre("m-1", "m-2", "m-3"));
}

TEST_F(MirrorThreadTest, TheNewestComesFirst) {
  std::vector<std::string> order;
  store_->after = [&](const std::string& operation) {
    if (operation.starts_with("put_new ")) order.push_back(operation.substr(12, 3));
  };
  for (int step = 1; step <= 3; ++step) write(step);
  MirrorThread thread(task(), clock_);
  thread.start();
  thread.finish(60);
  EXPECT_THAT(order, ElementsAre("m-3", "m-2", "m-1"));
}

TEST_F(MirrorThreadTest, AStoreThatFailsIsAskedAgain) {
  std::atomic<bool> is_down = true;
  std::atomic<int> num_asked = 0;
  store_->before = [&](const std::string&) {
    ++num_asked;
    if (is_down) throw UnavailableError("the store is down");
  };
  const LogCapture log;
  write(1);
  MirrorThread thread(task(), clock_);
  thread.start();
  wait_until("a request", [&] { return num_asked > 0; });
  thread.wake();
  wait_until("a request", [&] { return num_asked > 1; });
  is_down = false;
  write(2);
  thread.wake();
  wait_until("a copy", [&] { return copied().size() == 2; });
  thread.finish(60);
  EXPECT_TRUE(log.contains("is not copied to s3://bucket/run now: the store is down"));
  EXPECT_EQ(
      std::ranges::count_if(
          log.lines(), [](const std::string& line) { return line.find("is down") != line.npos; }),
      1);
}

TEST_F(MirrorThreadTest, TheEndSaysWhatIsNotCopied) {
  store_->before = [](const std::string& operation) {
    if (operation.starts_with("put")) throw PermissionDeniedError("not you");
  };
  const LogCapture log;
  write(1);
  MirrorThread thread(task(), clock_);
  thread.start();
  thread.finish(60);
  EXPECT_TRUE(log.contains("m-1 was not copied"));
}

TEST_F(MirrorThreadTest, TheEndDoesNotWaitForever) {
  std::atomic<bool> holds = true;
  store_->before = [&](const std::string& operation) {
    if (operation.starts_with("put ")) wait_until("the release", [&] { return !holds; });
  };
  const LogCapture log;
  write(1);
  MirrorThread thread(task(), clock_);
  thread.start();
  wait_until("the copying", [&] { return thread.activity() == "copying m-1"; });
  crochet::internal::Thread releases("releases", [&] {
    wait_until("the line", [&] { return log.contains("waits up to 0 s"); });
    holds = false;
  });
  thread.finish(0);
  EXPECT_TRUE(log.contains("m-1"));
}

TEST_F(MirrorThreadTest, BringsTheNewestSoundCopyBack) {
  for (int step = 1; step <= 3; ++step) write(step, static_cast<float>(step));
  {
    MirrorThread thread(task(), clock_);
    thread.start();
    thread.finish(60);
  }
  for (const std::string& key : store_->keys())
    if (key.find("m-3.data") != key.npos) store_->set(key, std::string(4, 'x'));
  for (int step = 1; step <= 3; ++step) remove_checkpoint(files_, fmt::format("run/m-{}", step));
  const LogCapture log;
  MirrorThread thread(task(), clock_);
  thread.bring_newest_back();
  EXPECT_EQ(latest_checkpoint(files_, "run"), "run/m-2");
  EXPECT_TRUE(log.contains("crc32c"));
}

TEST_F(MirrorThreadTest, WithoutCopiesNothingIsBroughtBack) {
  MirrorThread(task(), clock_).bring_newest_back();
  EXPECT_THAT(files_.list("run"), IsEmpty());
  write(1);
  {
    MirrorThread thread(task(), clock_);
    thread.start();
    thread.finish(60);
  }
  remove_checkpoint(files_, "run/m-1");
  for (const std::string& key : store_->keys())
    if (key.find("m-1.data") != key.npos) store_->set(key, std::string(4, 'x'));
  EXPECT_THAT([&] { MirrorThread(task(), clock_).bring_newest_back(); },
              ThrowsMessage<DataLossError>(HasSubstr("none of 1 copies is sound")));
}

TEST(MirrorHookTest, ChecksItsOptions) {
  EXPECT_THROW(MirrorHook("gs://bucket/x"), InvalidArgumentError);
  EXPECT_THROW(MirrorHook("s3://bucket/x", {.max_to_keep = -1}), InvalidArgumentError);
  EXPECT_THROW(MirrorHook("s3://bucket/x", {.end_secs = -1}), InvalidArgumentError);
  EXPECT_THROW(MirrorHook("s3://bucket/x", {.num_parallel = 0}), InvalidArgumentError);
}

TEST(MirrorHookTest, CopiesNothingInARehearsal) {
  // Nobody answers there: it would be an error.
  ::setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1", 1);
  ::setenv(crochet::internal::kRehearsalVariable, crochet::internal::kUndisturbed, 1);
  MemoryFileSystem files;
  ScriptedGraph graph;
  graph.attach(std::make_shared<crochet::internal::SavedPlace>(
      crochet::internal::SavedPlace{"run", "m", files}));
  MirrorHook hook("s3://bucket/x");
  hook.begin(graph);
  EXPECT_EQ(hook.activity(), "");
  hook.on_error(nullptr);
  ::unsetenv(crochet::internal::kRehearsalVariable);
  ::unsetenv("AWS_ENDPOINT_URL");
}

TEST(MirrorHookTest, NeedsASaverBeforeIt) {
  MirrorHook hook("s3://bucket/x");
  ScriptedGraph graph;
  EXPECT_THAT([&] { hook.begin(graph); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("no hook before it saves")));
}

}  // namespace
}  // namespace crochet::inline v0::cloud::internal
