// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/internal/checkpoint_history.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/temp_directory.h"
#include "tests/support/step_state.h"

namespace crochet {
namespace {

using ::testing::HasSubstr;

// Gives this process its own mounts, as root or as root of a user namespace.
bool unshare_mounts() {
  const uid_t user = ::getuid();
  const gid_t group = ::getgid();
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << fmt::format("0 {} 1", user);
    std::ofstream("/proc/self/gid_map") << fmt::format("0 {} 1", group);
  }
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

class FullDiskTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!unshare_mounts() || ::mount("tmpfs", disk_.path().c_str(), "tmpfs", 0, "size=2m") != 0)
      GTEST_SKIP() << "not permitted to mount a small disk";
    is_mounted_ = true;
  }
  ~FullDiskTest() override {
    if (is_mounted_) ::umount(disk_.path().c_str());
  }

  std::vector<std::string> checkpoints() {
    return list_checkpoints(files_, directory_, "model.ckpt");
  }

  void save_next(Saver& saver) {
    state_.advance(*session_);
    saver.save(*session_, directory_ + "/model.ckpt", read_global_step(*session_));
  }

  // Saves until it fails; returns the error's message.
  std::string fill(Saver& saver) {
    for (int i = 0; i < 10000; ++i) {
      try {
        save_next(saver);
      } catch (const ResourceExhaustedError& error) {
        return error.what();
      }
    }
    ADD_FAILURE() << "the disk did not become full";
    return "";
  }

  void expect_whole(size_t min_number) {
    const std::vector<std::string> found = checkpoints();
    EXPECT_GE(found.size(), min_number);
    for (const std::string& prefix : found)
      EXPECT_TRUE(internal::is_bit_equal(files_, prefix, *internal::step_of_prefix(prefix)))
          << prefix;
    for (const std::string& name : files_.list(directory_)) {
      EXPECT_THAT(name, testing::Not(HasSubstr(".tmp")));
      EXPECT_THAT(name, testing::Not(HasSubstr(".tempstate")));
    }
  }

  FileSystem& files_ = FileSystem::posix();
  TempDirectory disk_;
  const std::string directory_ = disk_ / "run";
  internal::StepState state_;
  const std::unique_ptr<Session> session_ = state_.graph.new_session("");
  bool is_mounted_ = false;
};

// In each round another file of the save is the first that does not fit.
TEST_F(FullDiskTest, AFailedSaveKeepsTheOldOnesAndTheNextSucceedsOnceThereIsSpace) {
  const LogCapture log;
  Saver saver({.max_to_keep = 0});
  size_t old_checkpoints = 0;
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    const std::string message = fill(saver);
    const int64_t failed_step = read_global_step(*session_);
    EXPECT_THAT(message, testing::ContainsRegex("needs [0-9]+ bytes, [0-9]+ are free"));
    EXPECT_THAT(message, HasSubstr(directory_));
    expect_whole(old_checkpoints);
    const std::vector<std::string> found = checkpoints();
    ASSERT_GT(found.size(), 10u);
    EXPECT_GE(*internal::step_of_prefix(found.back()), failed_step - 1);

    // Leaves space for some saves, and a page less in each round.
    for (size_t i = 0; i < 5; ++i) remove_checkpoint(files_, found[i]);
    const auto ballast = files_.append_to(disk_ / "ballast");
    ballast->append(std::string(4096, 'x'));
    ballast->close();
    ASSERT_NO_THROW(save_next(saver));
    expect_whole(found.size() - 4);
    Saver reader;
    const auto session = state_.graph.new_session("");
    reader.restore_newest(*session, directory_, "model.ckpt");
    EXPECT_EQ(read_global_step(*session), failed_step + 1);
    EXPECT_TRUE(state_.is_of_one_step(*session));
    old_checkpoints = checkpoints().size();
  }
}

}  // namespace
}  // namespace crochet
