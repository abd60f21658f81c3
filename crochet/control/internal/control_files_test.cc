// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/control/internal/control_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/temp_directory.h"

namespace crochet::inline v0::internal {
namespace {

class ControlFilesTest : public testing::Test {
 protected:
  ControlFilesTest() { files_.create_directories("run"); }
  void put(const std::string& path, const std::string& text) { files_.create(path)->append(text); }

  LogCapture log_;
  MemoryFileSystem files_;
  ControlFiles control_{files_, "run"};
};

const ControlRequest kStop{.id = "1", .verb = ControlVerb::kStop};

TEST_F(ControlFilesTest, ARequestIsTakenOnceAndAnswered) {
  EXPECT_EQ(control_.take(), std::nullopt);
  control_.ask(kStop);
  EXPECT_EQ(control_.answer_to(kStop), std::nullopt);
  EXPECT_EQ(control_.take(), kStop);
  EXPECT_EQ(control_.take(), std::nullopt);
  EXPECT_FALSE(control_.take_back(kStop));
  const ControlAnswer answer{"1", "yes"};
  control_.answer(answer);
  EXPECT_EQ(control_.answer_to(kStop), answer);
  EXPECT_EQ(control_.answer_to({.id = "2"}), std::nullopt);
  EXPECT_EQ(files_.list("run"), std::vector<std::string>{"control.answer"});
}

TEST_F(ControlFilesTest, ARequestIsTakenBack) {
  control_.ask(kStop);
  EXPECT_FALSE(control_.take_back({.id = "2"}));
  EXPECT_TRUE(control_.take_back(kStop));
  EXPECT_EQ(control_.take(), std::nullopt);
}

TEST_F(ControlFilesTest, ALimitIsKept) {
  EXPECT_EQ(control_.limit(), std::nullopt);
  const RunLimit limit{.at_step = 50, .when_saved = true};
  control_.set_limit(limit);
  EXPECT_EQ(ControlFiles(files_, "run").limit(), limit);
  control_.set_limit({});
  EXPECT_EQ(control_.limit(), std::nullopt);
  EXPECT_TRUE(files_.list("run").empty());
}

TEST_F(ControlFilesTest, WhatIsNotARequestIsIgnoredAndRemoved) {
  for (const std::string& text : {std::string("garbage"), std::string(100'000, 'x')}) {
    put("run/control.json", text);
    EXPECT_EQ(control_.take(), std::nullopt);
    EXPECT_TRUE(log_.contains("a request to the run is ignored: run/control"));
    EXPECT_TRUE(files_.list("run").empty());
    put("run/control.limit", text);
    EXPECT_EQ(control_.limit(), std::nullopt);
    files_.remove("run/control.limit");
  }
}

// What a hostile directory may have instead: nothing else happens, and nothing waits.
TEST(ControlFilesOnDiskTest, LinksPipesAndDirectoriesAreIgnored) {
  LogCapture log;
  TempDirectory directory;
  const std::string outside = directory.path() + "/outside";
  const std::string run = directory.path() + "/run";
  const std::string request = run + "/control.json";
  FileSystem& files = FileSystem::posix();
  files.create_directories(run);
  {
    const auto file = files.create(outside);
    file->append(to_json(kStop));
    file->close();
  }
  ControlFiles control(files, run);

  ASSERT_EQ(::symlink(outside.c_str(), request.c_str()), 0);
  EXPECT_EQ(control.take(), std::nullopt);
  EXPECT_EQ(read_file(files, outside), to_json(kStop));
  EXPECT_FALSE(files.exists(request));

  ASSERT_EQ(::mkfifo(request.c_str(), 0600), 0);
  EXPECT_EQ(control.take(), std::nullopt);
  EXPECT_FALSE(files.exists(request));

  files.create_directories(request + "/full");
  EXPECT_EQ(control.take(), std::nullopt);
  EXPECT_EQ(control.take(), std::nullopt);
  EXPECT_TRUE(log.contains("requests to the run cannot be read"));
}

TEST(ControlFilesOnDiskTest, ARequestOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files to other users";
  LogCapture log;
  TempDirectory directory;
  const std::string request = directory.path() + "/control.json";
  ControlFiles control(FileSystem::posix(), directory.path());
  control.ask(kStop);
  ASSERT_EQ(::chown(request.c_str(), 12345, 12345), 0);
  EXPECT_EQ(control.take(), std::nullopt);
  EXPECT_TRUE(log.contains("found a file of another user"));
  control.ask(kStop);
  EXPECT_EQ(control.take(), kStop);
}

}  // namespace
}  // namespace crochet::inline v0::internal
