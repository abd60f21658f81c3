// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/attack_count.h"
#include "tests/support/fault_life.h"
#include "tests/support/sanitizers.h"

namespace crochet {
namespace {

using internal::FaultLife;
using internal::LifeOptions;

// All sets of names that a disk may have kept, in whatever order it wrote them; of many names, only
// the sets of none, one, all but one, and all.
std::vector<std::set<std::string>> choices_of(const std::vector<std::string>& names) {
  std::vector<std::set<std::string>> choices = {{}, {names.begin(), names.end()}};
  constexpr size_t kFewNames = 4;
  if (names.size() <= kFewNames) {
    for (size_t bits = 1; bits + 1 < size_t{1} << names.size(); ++bits) {
      choices.emplace_back();
      for (size_t i = 0; i < names.size(); ++i)
        if (bits >> i & 1) choices.back().insert(names[i]);
    }
    return choices;
  }
  for (const std::string& name : names) {
    choices.push_back({name});
    choices.emplace_back(names.begin(), names.end());
    choices.back().erase(name);
  }
  return choices;
}

class SavePowerCutTest : public testing::TestWithParam<LifeOptions> {
 protected:
  SavePowerCutTest() : start_(FaultLife(GetParam()).disk_after_a_good_life()) {}

  // Checks what `cut` would leave on the disk now.
  void expect_sound_after(const MemoryFileSystem& disk, const FaultLife& life,
                          const PowerCut& cut) {
    cuts_.add();
    life.expect_sound(*disk.after_power_cut(cut), std::max<int64_t>(2, life.newest_durable()));
  }

  const std::unique_ptr<MemoryFileSystem> start_;
  AttackCount cuts_{"power_cuts"};
};

constexpr UnsyncedBytes kAllBytes[] = {UnsyncedBytes::kLost, UnsyncedBytes::kHalf,
                                       UnsyncedBytes::kZeroed, UnsyncedBytes::kKept};

// Before each operation: bytes that are not synced are lost, kept in part, or zeros; of the names
// that are not synced, any may be kept, including those of files that lost their bytes.
TEST_P(SavePowerCutTest, LeavesASoundCheckpointAtEveryMoment) {
  const auto disk = start_->after_power_cut();
  FailingFileSystem files(*disk);
  FaultLife life(GetParam());
  files.watch([&](const std::string& operation) {
    if (HasFailure()) return;  // One report is enough.
    if (files.num_operations() % kOperationStride != 0) return;
    SCOPED_TRACE("before " + operation);
    for (const auto& names : choices_of(disk->unsynced_names())) {
      for (const UnsyncedBytes bytes : kAllBytes) {
        SCOPED_TRACE(fmt::format("kept names {}, bytes {}", testing::PrintToString(names),
                                 static_cast<int>(bytes)));
        expect_sound_after(*disk, life, {.bytes = bytes, .kept_names = names});
      }
    }
  });
  life.live(files, 2);
  EXPECT_EQ(life.newest_durable(), 4);
  EXPECT_GT(cuts_.number(), 4 * files.num_operations() / kOperationStride);
}

INSTANTIATE_TEST_SUITE_P(All, SavePowerCutTest,
                         testing::ValuesIn(internal::lives_in_one_directory()),
                         [](const auto& info) { return info.param.name; });

class SavePowerCutAfterFailureTest : public SavePowerCutTest {};

// An operation fails once, and the power some operations later, while the save is retried.
TEST_P(SavePowerCutAfterFailureTest, LeavesASoundCheckpointAtEveryMoment) {
  for (int64_t n = 0;; n += kOperationStride) {
    const auto disk = start_->after_power_cut();
    FailingFileSystem files(*disk);
    files.fail_operation_with_errno(n, EIO);
    FaultLife life(GetParam());
    files.watch([&](const std::string& operation) {
      // Each of these operations is covered by some of the runs.
      const int64_t later = files.num_operations() - n;
      if (later <= 0 || later > 30 || later % 4 != n % 4 || HasFailure()) return;
      SCOPED_TRACE(fmt::format("operation {} failed, before {}", n, operation));
      for (const UnsyncedNames names : {UnsyncedNames::kLost, UnsyncedNames::kKept})
        expect_sound_after(*disk, life, {.names = names});
    });
    life.live(files, 2);
    if (files.num_failures() == 0 || HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SavePowerCutAfterFailureTest,
                         testing::ValuesIn(internal::all_lives()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace crochet
