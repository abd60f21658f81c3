// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "tests/support/attack_count.h"
#include "tests/support/fault_life.h"
#include "tests/support/sanitizers.h"

namespace crochet {
namespace {

using internal::FaultLife;
using internal::LifeOptions;
using testing::IsEmpty;

// Whole runs in which each call fails in turn, once or permanently, in every way that a system may
// fail. The disk is checked afterwards as it is, and after a power cut.
class SaveFaultsTest : public testing::TestWithParam<LifeOptions> {
 protected:
  // Runs once for each call n; `fail` makes that call fail. `after_life` may check more after each
  // run.
  void live_through_all(const std::function<void(FailingFileSystem&, int64_t n)>& fail,
                        const std::function<void(const FaultLife&)>& after_life = {}) {
    const auto start = FaultLife(GetParam()).disk_after_a_good_life();
    for (int64_t n = 0;; n += kOperationStride) {
      SCOPED_TRACE(fmt::format("call {}", n));
      const auto disk = start->after_power_cut();
      FailingFileSystem files(*disk);
      fail(files, n);
      FaultLife life(GetParam());
      life.live(files, 2);
      errors_.add(static_cast<int64_t>(files.num_failures()));
      cuts_.add();
      life.expect_heard(files.failures());
      EXPECT_THAT(files.violations(), IsEmpty());
      const int64_t promised = std::max<int64_t>(2, life.newest_durable());
      {
        SCOPED_TRACE("after a power cut");
        life.expect_sound(*disk->after_power_cut(), promised);
      }
      life.expect_sound(*disk, promised);
      if (after_life) after_life(life);
      if (HasFailure()) break;               // One report is enough.
      if (files.num_failures() == 0) break;  // Each call has failed once.
      ASSERT_LT(n, 1000);
    }
  }

  AttackCount errors_{"io_errors"};
  AttackCount cuts_{"power_cuts"};
};

// All error numbers; one of each kind for runs that differ only in their files.
std::vector<int> errors_for(const LifeOptions& options) {
  const bool differs = options.num_shards > 1 || !options.fallback_dir.empty() ||
                       options.format != CheckpointFormat::kTensorBundle;
  if (differs) return {ENOSPC, EIO, EROFS};
  return {ENOSPC, EIO, EDQUOT, EROFS, EMFILE, EINTR, EAGAIN, EFBIG};
}

TEST_P(SaveFaultsTest, EachOperationFailsOnceWithEachErrno) {
  for (const int error : errors_for(GetParam())) {
    SCOPED_TRACE(strerrorname_np(error));
    live_through_all(
        [&](FailingFileSystem& files, int64_t n) { files.fail_operation_with_errno(n, error); });
  }
}

TEST_P(SaveFaultsTest, EachOperationAndAllAfterItFailWithEachErrno) {
  for (const int error : errors_for(GetParam())) {
    SCOPED_TRACE(strerrorname_np(error));
    live_through_all([&](FailingFileSystem& files, int64_t n) {
      files.fail_operation_with_errno(n, error, Failing::kFromThenOn);
    });
  }
}

TEST_P(SaveFaultsTest, EachOperationFailsWithoutOrAfterItsWork) {
  for (const FailedWork work : {FailedWork::kNothing, FailedWork::kAll})
    for (const Failing failing : {Failing::kOnce, Failing::kFromThenOn})
      live_through_all([&](FailingFileSystem& files, int64_t n) {
        files.set_failed_work(work);
        files.fail_operation_with_errno(n, EIO, failing);
      });
}

TEST_P(SaveFaultsTest, EachReadFails) {
  for (const int error : {EIO, EMFILE})
    for (const Failing failing : {Failing::kOnce, Failing::kFromThenOn})
      live_through_all([&](FailingFileSystem& files, int64_t n) {
        files.fail_read_with_errno(n, error, failing);
      });
}

INSTANTIATE_TEST_SUITE_P(All, SaveFaultsTest, testing::ValuesIn(internal::all_lives()),
                         [](const auto& info) { return info.param.name; });

class FallbackDirectoryFaultsTest : public SaveFaultsTest {};

// From some call on, the own directory is unusable: saves go to the fallback directory.
TEST_P(FallbackDirectoryFaultsTest, ReceivesWhatCannotBeSavedInTheOwnDirectory) {
  for (const int error : {ENOSPC, EIO})
    live_through_all(
        [&](FailingFileSystem& files, int64_t n) {
          files.spare(GetParam().fallback_dir);
          files.fail_operation_with_errno(n, error, Failing::kFromThenOn);
        },
        [](const FaultLife& life) { EXPECT_EQ(life.newest_durable(), life.has_begun() ? 4 : 0); });
}

INSTANTIATE_TEST_SUITE_P(All, FallbackDirectoryFaultsTest,
                         testing::ValuesIn(internal::lives_in_two_directories()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace crochet
