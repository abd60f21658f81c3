// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The parts of a checkpoint, and what remains of them when a disk fails.
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/internal/checkpoint_directory.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/saver/internal/background_saver.h"
#include "crochet/checkpoint/saver/internal/failed_part.h"
#include "crochet/checkpoint/saver/internal/joint_save.h"
#include "crochet/checkpoint/saver/internal/saver_access.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/engines/local/graph.h"
#include "crochet/ranks/internal/rank_contributions.h"
#include "crochet/ranks/internal/rank_saves.h"
#include "crochet/session/internal/rank_layout.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/local_variables.h"

namespace crochet {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

constexpr double kPartTimeoutSecs = 60;

// A rank that has two of the elements of "x", and "y" as all ranks.
class Rank {
 public:
  Rank(int rank, int size, FileSystem& files, Clock& clock)
      : saver_({.files = &files, .clock = &clock}) {
    internal::RankLayout::of(graph_)->set_rank(rank, size);
    const Variable x = graph_.borrow("x", {.view = [this] { return view_of(x_); }});
    shard_variable(graph_, x, {.full_shape = {2 * size}, .offset = {2 * rank}});
    graph_.borrow("y", {.view = [this] { return view_of(y_); }});
    session_ = graph_.new_session("");
  }
  void set(int64_t value) {
    x_.assign(2, value);
    y_.assign(1, value);
  }
  void write_part(const std::string& prefix) {
    internal::SavePromise promise(prefix, 1, saver_.clock());
    internal::SaverAccess::write(
        saver_, internal::SaverAccess::snapshot_of_part(saver_, *session_, prefix), promise);
  }

  Session& session() { return *session_; }
  Saver& saver() { return saver_; }

 private:
  std::vector<int64_t> x_ = {0, 0};
  std::vector<int64_t> y_ = {0};
  local::Graph graph_;
  std::unique_ptr<Session> session_;
  Saver saver_;
};

// A chief, and another rank that writes its part as soon as a save begins.
class TwoRanks final : private internal::JointSave {
 public:
  TwoRanks(FileSystem& files, Clock& clock)
      : files_(files), chief_(0, 2, files, clock), other_(1, 2, files, clock) {}
  // The state of each step is its number.
  void save(int64_t step) {
    chief_.set(step);
    other_.set(step);
    internal::SaverAccess::save_with(chief_.saver(), this, chief_.session(), "run/model.ckpt",
                                     step);
  }
  // Returns once the background thread has no more to do.
  SaveTicket save_in_background(int64_t step) {
    chief_.set(step);
    other_.set(step);
    internal::BackgroundSaver background(chief_.saver());
    SaveTicket ticket = background.enqueue(
        internal::SaverAccess::snapshot_for(chief_.saver(), chief_.session(),
                                            chief_.saver().prefix_of("run/model.ckpt", step), this),
        "run/model.ckpt", step);
    background.wait();
    return ticket;
  }

  bool writes_part = true;
  std::function<void(const std::string& part)> before_part;
  std::function<void()> after_part;
  const std::shared_ptr<std::atomic<bool>> lost = std::make_shared<std::atomic<bool>>(false);

 private:
  std::shared_ptr<internal::Contributions> begin(const Saver&, const internal::VariableSelection&,
                                                 const std::string& prefix, Snapshot&) override {
    const auto directory = internal::CheckpointDirectory::to_save_in(files_, "run");
    const std::string base = internal::temporary_filename(prefix);
    const std::string part = internal::part_prefix(base, 1);
    if (before_part) before_part(part);
    if (writes_part) other_.write_part(part);
    if (after_part) after_part();
    return std::make_shared<internal::RankContributions>(
        directory.shared_files(), prefix, std::map<int, std::string>{{0, base}, {1, part}},
        std::vector<std::string>(), internal::RankWaiting{2, kPartTimeoutSecs, lost});
  }

  FileSystem& files_;
  Rank chief_;
  Rank other_;
};

class RankPartsTest : public testing::Test {
 protected:
  static std::vector<int64_t> values(const CheckpointReader& reader, const std::string& name) {
    const Tensor tensor = reader.read(name);
    const auto elements = tensor.flat<int64_t>();
    return {elements.begin(), elements.end()};
  }
  // The step of a checkpoint, all of whose values must be its own.
  static int64_t checked_step(FileSystem& files, const std::string& prefix) {
    const CheckpointReader reader(prefix, files);
    const int64_t step = values(reader, "y").at(0);
    EXPECT_THAT(values(reader, "x"), testing::Each(step)) << prefix;
    EXPECT_TRUE(prefix.ends_with(fmt::format("-{}", step))) << prefix;
    return step;
  }

  MemoryFileSystem disk_;
  FakeClock clock_;
};

TEST_F(RankPartsTest, MergesThePartsOfAllRanks) {
  TwoRanks ranks(disk_, clock_);
  ranks.save(7);
  EXPECT_EQ(checked_step(disk_, "run/model.ckpt-7"), 7);
  EXPECT_EQ(CheckpointReader("run/model.ckpt-7", disk_).read("x").shape(), (Shape{4}));
  EXPECT_THAT(list_leftovers(disk_, "run", "model.ckpt", "checkpoint"), IsEmpty());
}

TEST_F(RankPartsTest, NamesTheRankWhosePartIsMissing) {
  TwoRanks ranks(disk_, clock_);
  ranks.save(1);
  ranks.writes_part = false;
  EXPECT_THAT([&] { ranks.save(2); },
              ThrowsMessage<DeadlineExceededError>(
                  HasSubstr("run/model.ckpt-2: the part of rank 1 of 2 is missing after 60.0 s")));
  EXPECT_FALSE(checkpoint_exists(disk_, "run/model.ckpt-2"));
  EXPECT_THAT(list_leftovers(disk_, "run", "model.ckpt", "checkpoint"), IsEmpty());
}

TEST_F(RankPartsTest, StopsWaitingSoonOnceTheGroupIsLost) {
  TwoRanks ranks(disk_, clock_);
  ranks.writes_part = false;
  ranks.lost->store(true);
  EXPECT_THAT([&] { ranks.save(2); },
              ThrowsMessage<DeadlineExceededError>(HasSubstr("is missing after 10.0 s")));
}

TEST_F(RankPartsTest, ThrowsTheErrorOfARank) {
  TwoRanks ranks(disk_, clock_);
  ranks.writes_part = false;
  ranks.before_part = [&](const std::string& part) {
    internal::report_failed_part(disk_, part,
                                 std::make_exception_ptr(PermissionDeniedError("not yours")));
  };
  EXPECT_THAT([&] { ranks.save(2); }, ThrowsMessage<PermissionDeniedError>(
                                          HasSubstr("rank 1 could not write its part: not yours")));
  EXPECT_THAT(list_leftovers(disk_, "run", "model.ckpt", "checkpoint"), IsEmpty());
}

// Whatever others have written there.
TEST_F(RankPartsTest, ReadsAnyReason) {
  for (const std::string& text : {std::string(), std::string("8"), std::string("99\nwhat"),
                                  std::string("-1\n\n"), std::string(100'000, '\n')}) {
    TwoRanks ranks(disk_, clock_);
    ranks.writes_part = false;
    ranks.before_part = [&](const std::string& part) {
      replace_file(disk_, internal::failed_part_filename(part), text);
    };
    EXPECT_THROW(ranks.save(2), Error) << text.substr(0, 10);
  }
}

TEST_F(RankPartsTest, RefusesADamagedPart) {
  TwoRanks ranks(disk_, clock_);
  ranks.writes_part = false;
  ranks.before_part = [&](const std::string& part) {
    replace_file(disk_, internal::index_filename(part), "not an index");
  };
  EXPECT_THROW(ranks.save(2), DataLossError);
  EXPECT_FALSE(checkpoint_exists(disk_, "run/model.ckpt-2"));
  EXPECT_THAT(list_leftovers(disk_, "run", "model.ckpt", "checkpoint"), IsEmpty());
}

// Both ranks lose their machine at any operation on the disk.
TEST_F(RankPartsTest, LeavesAWholeCheckpointAfterAPowerCutAtAnyOperation) {
  int64_t num_operations = 0;
  for (const FailedWork work : {FailedWork::kNothing, FailedWork::kHalf, FailedWork::kAll}) {
    for (int64_t n = 0;; ++n) {
      MemoryFileSystem disk;
      { TwoRanks(disk, clock_).save(1); }
      FailingFileSystem files(disk);
      files.set_failed_work(work);
      files.fail_operation_with_errno(n, EIO, Failing::kFromThenOn);
      try {
        TwoRanks ranks(files, clock_);
        ranks.save(2);
      } catch (const Error&) {
      }
      const bool is_undisturbed = files.num_failures() == 0;
      disk.power_cut();
      const std::vector<std::string> found = list_checkpoints(disk, "run", "model.ckpt");
      ASSERT_THAT(found, SizeIs(testing::Ge(1))) << n;
      for (const std::string& prefix : found) checked_step(disk, prefix);
      if (is_undisturbed) break;
      num_operations = n + 1;
    }
  }
  EXPECT_GT(num_operations, 20);
}

TEST_F(RankPartsTest, ARetryOfTheChiefNeedsNoNewParts) {
  int64_t num_failures = 0;
  for (int64_t n = 0;; ++n) {
    FailingFileSystem files(disk_);
    TwoRanks ranks(files, clock_);
    int num_announced = 0;
    ranks.after_part = [&] {
      ++num_announced;
      files.fail_operation_with_errno(files.num_operations() + n, EIO, Failing::kOnce);
    };
    const SaveTicket ticket = ranks.save_in_background(n + 1);
    EXPECT_EQ(num_announced, 1);
    if (files.num_failures() == 0) break;
    ++num_failures;
    ASSERT_FALSE(ticket.error()) << n;
    EXPECT_EQ(checked_step(disk_, ticket.prefix()), n + 1);
  }
  EXPECT_GT(num_failures, 10);
}

}  // namespace
}  // namespace crochet
