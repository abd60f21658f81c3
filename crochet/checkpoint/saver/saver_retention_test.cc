// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The checkpoints that a saver lists, keeps and removes.
#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/directory/internal/checkpoint_history.h"
#include "crochet/checkpoint/saver/internal/background_saver.h"
#include "crochet/checkpoint/saver/internal/save_promise.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/checkpoint/saver/internal/saver_access.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/watched_file_system.h"
#include "tests/support/raw_bundle.h"
#include "tests/support/restored_from.h"

namespace crochet {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Optional;

class SaverRetentionTest : public testing::Test {
 protected:
  SaverRetentionTest() { graph_.set_meta_graph("the graph"); }

  Saver saver(SaverOptions options) {
    options.files = &files_;
    options.clock = &clock_;
    return Saver(options);
  }
  std::string save(Saver& saver, const std::string& name) {
    return saver.save(*session_, "d/" + name);
  }
  // Saves "d/m-<step>" for each step, a minute apart.
  void save_steps(Saver& saver, const std::vector<int64_t>& steps) {
    for (const int64_t step : steps) {
      clock_.advance(minutes(1));
      saver.save(*session_, "d/m", step);
    }
  }
  std::vector<std::string> on_disk() { return list_checkpoints(files_, "d", "m"); }
  // True if the checkpoint exists with its meta graph, false if none of its files does.
  bool exists(const std::string& prefix) {
    const bool there = checkpoint_exists(files_, prefix);
    EXPECT_EQ(files_.exists(prefix + ".meta"), there) << prefix;
    const auto its_files = Contains(testing::StartsWith(base_name(prefix) + "."));
    if (!there) {
      EXPECT_THAT(files_.list("d"), Not(its_files));
    }
    return there;
  }
  void expect_state(const std::vector<std::string>& all) {
    const auto state = get_checkpoint_state(files_, "d");
    ASSERT_TRUE(state);
    EXPECT_EQ(state->model_checkpoint_path, all.back());
    EXPECT_THAT(state->all_model_checkpoint_paths, ElementsAreArray(all));
  }

  LogCapture log_;
  MemoryFileSystem files_;
  FakeClock clock_{1'700'000'000};
  ScriptedGraph graph_;
  std::unique_ptr<Session> session_ = graph_.new_session("");
};

// SV-40
TEST_F(SaverRetentionTest, EachSaverKeepsItsOwnList) {
  Saver first = saver({.max_to_keep = 2});
  const std::string s1 = save(first, "s1");
  EXPECT_THAT(first.last_checkpoints(), ElementsAre(s1));
  expect_state({s1});
  const std::string s2 = save(first, "s2");
  EXPECT_THAT(first.last_checkpoints(), ElementsAre(s1, s2));
  EXPECT_TRUE(exists(s1) && exists(s2));
  expect_state({s1, s2});
  const std::string s3 = save(first, "s3");
  EXPECT_THAT(first.last_checkpoints(), ElementsAre(s2, s3));
  EXPECT_FALSE(exists(s1));
  EXPECT_TRUE(exists(s2) && exists(s3));
  expect_state({s2, s3});

  Saver second(first.options());
  second.set_last_checkpoints(first.last_checkpoints());
  Saver third(first.options());

  save(first, "s2");  // Saved again, it is the newest.
  EXPECT_THAT(first.last_checkpoints(), ElementsAre(s3, s2));
  expect_state({s3, s2});
  save(first, "s1");
  EXPECT_THAT(first.last_checkpoints(), ElementsAre(s2, s1));
  EXPECT_FALSE(exists(s3));
  EXPECT_TRUE(exists(s2) && exists(s1));
  expect_state({s2, s1});

  save(second, "s2");
  EXPECT_THAT(second.last_checkpoints(), ElementsAre(s3, s2));
  EXPECT_TRUE(exists(s1));
  expect_state({s3, s2});
  save(second, "s1");
  EXPECT_THAT(second.last_checkpoints(), ElementsAre(s2, s1));
  EXPECT_TRUE(exists(s2) && exists(s1));
  expect_state({s2, s1});

  save(third, "s2");
  EXPECT_THAT(third.last_checkpoints(), ElementsAre(s2));
  EXPECT_TRUE(exists(s1));  // Unknown to this saver.
  expect_state({s2});
  save(third, "s1");
  EXPECT_THAT(third.last_checkpoints(), ElementsAre(s2, s1));
  expect_state({s2, s1});
}

// SV-41: four files per checkpoint, and the sidecar.
TEST_F(SaverRetentionTest, RemovesAllDataFilesOfACheckpoint) {
  Saver sharded = saver({.num_shards = 2, .max_to_keep = 2});
  for (const char* const name : {"s1", "s2", "s3"}) save(sharded, name);
  EXPECT_FALSE(exists("d/s1"));
  EXPECT_THAT(files_.list("d"),
              ElementsAre(".lock", ".sidecar_lock", "checkpoint", "s2.data-00000-of-00002",
                          "s2.data-00001-of-00002", "s2.index", "s2.json", "s2.meta",
                          "s3.data-00000-of-00002", "s3.data-00001-of-00002", "s3.index", "s3.json",
                          "s3.meta"));
  expect_state({"d/s2", "d/s3"});
}

// SV-42
TEST_F(SaverRetentionTest, KeepingAllListsOnlyTheNewest) {
  Saver all = saver({.max_to_keep = 0});
  EXPECT_THAT(all.last_checkpoints(), IsEmpty());
  for (const char* const name : {"s1", "s2"}) {
    save(all, name);
    EXPECT_THAT(all.last_checkpoints(), IsEmpty());
    expect_state({std::string("d/") + name});
  }
  EXPECT_TRUE(exists("d/s1") && exists("d/s2"));
}

// SV-44
TEST_F(SaverRetentionTest, RecoveringListsTheCheckpointsOnDisk) {
  Saver first = saver({.max_to_keep = 10});
  for (const char* const name : {"s1", "s2", "s3"}) save(first, name);
  remove_checkpoint(files_, "d/s2");
  Saver second = saver({.max_to_keep = 10});
  second.recover_last_checkpoints(first.last_checkpoints());
  EXPECT_THAT(second.last_checkpoints(), ElementsAre("d/s1", "d/s3"));
  save(second, "s4");
  EXPECT_THAT(second.last_checkpoints(), ElementsAre("d/s1", "d/s3", "d/s4"));
  expect_state({"d/s1", "d/s3", "d/s4"});
}

// SV-45
TEST_F(SaverRetentionTest, KeepsACheckpointEveryNHours) {
  Saver hourly = saver({.max_to_keep = 2, .keep_checkpoint_every_n_hours = 0.7 / 3600});
  EXPECT_THAT(hourly.last_checkpoints(), IsEmpty());
  clock_.advance(seconds(1));  // The first is late enough to be kept, the second too close to it.
  for (const char* const name : {"s1", "s2"}) save(hourly, name);
  EXPECT_THAT(hourly.last_checkpoints(), ElementsAre("d/s1", "d/s2"));
  save(hourly, "s3");
  EXPECT_THAT(hourly.last_checkpoints(), ElementsAre("d/s2", "d/s3"));
  EXPECT_TRUE(exists("d/s1"));
  save(hourly, "s4");
  EXPECT_THAT(hourly.last_checkpoints(), ElementsAre("d/s3", "d/s4"));
  EXPECT_TRUE(exists("d/s1"));
  EXPECT_FALSE(exists("d/s2"));
  EXPECT_TRUE(exists("d/s3") && exists("d/s4"));
}

TEST_F(SaverRetentionTest, KeepsACheckpointEveryNSteps) {
  Saver stepwise = saver({.max_to_keep = 1, .keep_checkpoint_every_n_steps = 100});
  save_steps(stepwise, {50, 130, 180, 200, 299, 310});
  EXPECT_THAT(on_disk(), ElementsAre("d/m-130", "d/m-200", "d/m-310"));
  EXPECT_THAT(stepwise.last_checkpoints(), ElementsAre("d/m-310"));
}

TEST_F(SaverRetentionTest, AppliesTheUsersPolicies) {
  const RetentionPolicy keep_tens = [](const CheckpointRecord& checkpoint,
                                       const RetentionContext&) {
    return checkpoint.step.value_or(1) % 10 == 0 ? Retention::kKeep : Retention::kRemove;
  };
  Saver custom = saver({.max_to_keep = 1, .retention = {keep_tens}});
  save_steps(custom, {10, 15, 20, 25, 30});
  EXPECT_THAT(custom.last_checkpoints(), ElementsAre("d/m-10", "d/m-20", "d/m-30"));
  EXPECT_THAT(on_disk(), ElementsAre("d/m-10", "d/m-20", "d/m-30"));
}

TEST_F(SaverRetentionTest, TheNextProcessContinuesTheList) {
  Saver first = saver({.max_to_keep = 3});
  save_steps(first, {1, 2, 3, 4});
  Saver second = saver({.max_to_keep = 3});
  save_steps(second, {5});
  EXPECT_THAT(second.last_checkpoints(), ElementsAre("d/m-3", "d/m-4", "d/m-5"));
  EXPECT_THAT(on_disk(), ElementsAre("d/m-3", "d/m-4", "d/m-5"));
}

TEST_F(SaverRetentionTest, TheNextProcessRemovesNoPreservedCheckpoint) {
  Saver first = saver({.max_to_keep = 1, .keep_checkpoint_every_n_steps = 100});
  save_steps(first, {100, 200, 250});
  Saver all = saver({.max_to_keep = 0});
  save_steps(all, {260, 270});
  Saver restarted = saver({.max_to_keep = 1});
  EXPECT_THAT(restarted.restore_newest(*session_, "d", "m"), RestoredFrom("d/m-270"));
  EXPECT_THAT(restarted.last_checkpoints(), ElementsAre("d/m-270"));
  save_steps(restarted, {280});
  EXPECT_THAT(on_disk(), ElementsAre("d/m-100", "d/m-200", "d/m-250", "d/m-260", "d/m-280"));
}

TEST_F(SaverRetentionTest, KeepsACheckpointEveryNHoursAcrossRestarts) {
  for (int64_t step = 0; step < 50; ++step) {  // One process per save, 10 minutes apart.
    Saver restarted = saver({.max_to_keep = 2, .keep_checkpoint_every_n_hours = 1});
    clock_.advance(minutes(10));
    restarted.save(*session_, "d/m", step);
  }
  EXPECT_THAT(on_disk(), ElementsAre("d/m-5", "d/m-11", "d/m-17", "d/m-23", "d/m-29", "d/m-35",
                                     "d/m-41", "d/m-47", "d/m-48", "d/m-49"));
}

TEST_F(SaverRetentionTest, KeepsACheckpointEveryNStepsAcrossRestarts) {
  for (int64_t step = 0; step <= 70; step += 7) {
    Saver restarted = saver({.max_to_keep = 1, .keep_checkpoint_every_n_steps = 20});
    save_steps(restarted, {step});
  }
  EXPECT_THAT(on_disk(), ElementsAre("d/m-21", "d/m-42", "d/m-63", "d/m-70"));
}

TEST_F(SaverRetentionTest, AnUnlistedCheckpointOfAKilledSaveCountsAsTheNewest) {
  Saver first = saver({.max_to_keep = 2});
  save_steps(first, {1, 2});
  const std::string state = read_file(files_, "d/checkpoint");
  save_steps(first, {3});
  replace_file(files_, "d/checkpoint", state);
  Saver second = saver({.max_to_keep = 2});
  save_steps(second, {4});
  EXPECT_THAT(second.last_checkpoints(), ElementsAre("d/m-3", "d/m-4"));
  EXPECT_THAT(on_disk(), ElementsAre("d/m-3", "d/m-4"));
}

TEST_F(SaverRetentionTest, WithoutAStateFileAllCheckpointsCount) {
  for (const bool is_damaged : {false, true}) {
    Saver first = saver({.max_to_keep = 5});
    save_steps(first, {1, 2, 3});
    if (is_damaged)
      internal::put_file(files_, "d/checkpoint", "model_checkpoint_path: \"");
    else
      files_.remove("d/checkpoint");
    Saver second = saver({.max_to_keep = 2});
    save_steps(second, {4});
    EXPECT_THAT(on_disk(), ElementsAre("d/m-3", "d/m-4"));
  }
}

// A graph's saver is shared by all its runs, and each may have its own directory.
TEST_F(SaverRetentionTest, CheckpointsOfOtherDirectoriesAreNotTouched) {
  Saver saver = this->saver({.max_to_keep = 2});
  save_steps(saver, {1, 2});
  for (const int64_t step : {3, 4, 5}) saver.save(*session_, "other/m", step);
  EXPECT_THAT(on_disk(), ElementsAre("d/m-1", "d/m-2"));
  EXPECT_THAT(saver.last_checkpoints(), ElementsAre("other/m-4", "other/m-5"));
  EXPECT_THAT(get_checkpoint_state(files_, "other")->all_model_checkpoint_paths,
              ElementsAre("other/m-4", "other/m-5"));
  save_steps(saver, {6});
  EXPECT_THAT(on_disk(), ElementsAre("d/m-2", "d/m-6"));
  EXPECT_THAT(list_checkpoints(files_, "other", "m"), ElementsAre("other/m-4", "other/m-5"));
}

TEST_F(SaverRetentionTest, CheckpointsOfOtherNamesAreNotTouched) {
  Saver training = saver({.max_to_keep = 5});
  save_steps(training, {1, 2, 3});
  Saver best = saver({.max_to_keep = 1});
  for (const int64_t step : {2, 3}) best.save(*session_, "d/best", step);
  EXPECT_EQ(on_disk().size(), 3u);
  EXPECT_THAT(list_checkpoints(files_, "d", "best"), ElementsAre("d/best-3"));
}

TEST_F(SaverRetentionTest, TimesComeFromTheSidecarOrTheFile) {
  Saver first = saver({.max_to_keep = 5});
  save_steps(first, {1, 2});
  remove_checkpoint(files_, "d/m-9");
  files_.remove("d/m-2.json");
  EXPECT_EQ(internal::find_record(files_, "d/m-1")->time, 1'700'000'060);
  EXPECT_EQ(internal::find_record(files_, "d/m-2")->time, files_.modified_time("d/m-2.index"));
  EXPECT_EQ(internal::find_record(files_, "d/m-9"), std::nullopt);
}

TEST_F(SaverRetentionTest, CheckpointsOfUnknownTimesAreNeverRemoved) {
  Saver first = saver({.max_to_keep = 5});
  save_steps(first, {1, 2});
  Saver second = saver({.max_to_keep = 1});
  second.set_last_checkpoints(first.last_checkpoints());
  save_steps(second, {3, 4});
  EXPECT_THAT(on_disk(), ElementsAre("d/m-1", "d/m-2", "d/m-4"));
}

TEST_F(SaverRetentionTest, AListWithTimesIsTreatedAsTheSaversOwn) {
  Saver first = saver({.max_to_keep = 5});
  save_steps(first, {1, 2});
  Saver second = saver({.max_to_keep = 1, .keep_checkpoint_every_n_hours = 1});
  const double now = clock_.wall_time();
  const std::vector<std::pair<std::string, double>> list = {{"d/m-1", now}, {"d/m-2", now + 3600}};
  second.set_last_checkpoints_with_time(list);
  save_steps(second, {3});
  EXPECT_THAT(on_disk(), ElementsAre("d/m-2", "d/m-3"));
}

TEST_F(SaverRetentionTest, KeepsTheBestAndTheNewest) {
  Saver best = saver({.max_to_keep = 1, .keep_best = KeepBest{"loss", 2}});
  const std::vector<double> losses = {5, 3, 4, 6, 2, 7};
  for (size_t i = 0; i < losses.size(); ++i) {
    const auto step = static_cast<int64_t>(i) + 1;
    best.record_metrics_later(best.prefix_of("d/m", step), {{"loss", losses[i]}});
    save_steps(best, {step});
  }
  EXPECT_THAT(on_disk(), ElementsAre("d/m-2", "d/m-5", "d/m-6"));
  EXPECT_EQ(read_sidecar(files_, "d/m-5")->metrics.at("loss"), 2);
}

// An evaluation that takes longer than the interval of saves.
TEST_F(SaverRetentionTest, AMetricMayBeRecordedLaterByAnotherProcess) {
  Saver best = saver({.max_to_keep = 2, .keep_best = KeepBest{"accuracy", 1, Better::kHigher}});
  save_steps(best, {1, 2});
  record_metrics(files_, "d/m-1", {{"accuracy", 0.9}});
  save_steps(best, {3});
  best.record_metrics("d/m-2", {{"accuracy", 0.8}});
  save_steps(best, {4});
  EXPECT_THAT(on_disk(), ElementsAre("d/m-1", "d/m-3", "d/m-4"));
  EXPECT_THROW(best.record_metrics("d/m-2", {{"accuracy", 1}}), NotFoundError);
}

TEST_F(SaverRetentionTest, ARetriedSaveKeepsItsMetrics) {
  for (int64_t n = 0;; ++n) {
    MemoryFileSystem disk;
    FailingFileSystem failing(disk);
    Saver best({.keep_best = KeepBest{"loss", 1}, .files = &failing, .clock = &clock_});
    best.record_metrics_later("d/m-1", {{"loss", 5}});
    failing.fail_operation(n, Code::kUnknown);
    try {
      best.save(*session_, "d/m", 1);
    } catch (const Error&) {
      best.save(*session_, "d/m", 1);
    }
    EXPECT_EQ(read_sidecar(disk, "d/m-1")->metrics.at("loss"), 5) << "after " << n;
    if (failing.num_failures() == 0) break;
  }
}

// A save that failed after its index was written has recorded them; metrics that another process
// records then are newer.
TEST_F(SaverRetentionTest, MetricsOfAFailedSaveDoNotReplaceLaterOnes) {
  int num_kept = 0;
  for (int64_t n = 0;; ++n) {
    MemoryFileSystem disk;
    FailingFileSystem failing(disk);
    Saver best({.keep_best = KeepBest{"loss", 1}, .files = &failing, .clock = &clock_});
    best.record_metrics_later("d/m-1", {{"loss", 5}});
    failing.fail_operation(n, Code::kUnknown);
    try {
      best.save(*session_, "d/m", 1);
    } catch (const Error&) {
    }
    if (failing.num_failures() == 0) break;
    if (!checkpoint_exists(disk, "d/m-1")) continue;
    ++num_kept;
    record_metrics(disk, "d/m-1", {{"loss", 7}});
    best.save(*session_, "d/m", 2);
    EXPECT_EQ(read_sidecar(disk, "d/m-1")->metrics.at("loss"), 7) << "after " << n;
  }
  EXPECT_GT(num_kept, 0);
}

// The evaluation of step 1 ends while its save is being written.
TEST_F(SaverRetentionTest, AMetricNotedDuringTheSaveIsNotLost) {
  bool was_noted = true;
  for (int64_t n = 0; was_noted; ++n) {
    MemoryFileSystem disk;
    FailingFileSystem watched(disk);
    Saver best({.keep_best = KeepBest{"loss", 1}, .files = &watched, .clock = &clock_});
    int64_t operation = 0;
    was_noted = false;
    watched.watch([&](const std::string&) {
      if (operation++ != n) return;
      was_noted = true;
      best.record_metrics_later("d/m-1", {{"loss", 5}});
    });
    best.save(*session_, "d/m", 1);
    watched.watch({});
    best.write_noted_metrics();
    if (was_noted) {
      EXPECT_EQ(read_sidecar(disk, "d/m-1")->metrics["loss"], 5) << "noted in operation " << n;
    }
  }
}

// Between the note and the sidecar, the save takes longer than many steps.
TEST_F(SaverRetentionTest, MetricsOfARunningSaveAreNotEvictedByThoseOfUnsavedSteps) {
  WatchedFileSystem disk;
  Gate gate;
  disk.on_create([&](const std::string& path) {
    if (path.find(".data-") != std::string::npos) gate.pass();
  });
  Saver best({.keep_best = KeepBest{"loss", 1}, .files = &disk, .clock = &clock_});
  internal::BackgroundSaver background(best);
  best.record_metrics_later("d/m-1", {{"loss", 5}});
  background.enqueue(best.snapshot(*session_), "d/m", 1);
  gate.wait_for_waiting();
  for (int64_t step = 2; step < 300; ++step)
    best.record_metrics_later(best.prefix_of("d/m", step), {{"loss", 6}});
  gate.open();
  background.wait();
  EXPECT_EQ(read_sidecar(disk, "d/m-1")->metrics["loss"], 5);
}

// The last value is written, whichever values were noted before the save.
TEST_F(SaverRetentionTest, WritesTheLaterOfTwoMetricsOfACheckpoint) {
  FailingFileSystem watched(files_);
  Saver best({.keep_best = KeepBest{"loss", 1}, .files = &watched, .clock = &clock_});
  best.record_metrics_later("d/m-1", {{"loss", 5}, {"accuracy", 0.5}});
  best.record_metrics_later("d/m-1", {{"loss", 4}});
  best.save(*session_, "d/m", 1);
  const auto is_sidecar = [](const std::string& operation) {
    return operation.starts_with("create d/m-1.json");
  };
  EXPECT_EQ(std::ranges::count_if(watched.operations(), is_sidecar), 1);
  EXPECT_EQ(read_sidecar(files_, "d/m-1")->metrics,
            (std::map<std::string, double>{{"accuracy", 0.5}, {"loss", 4}}));
}

TEST_F(SaverRetentionTest, WritesANanMetricOnlyOnce) {
  FailingFileSystem watched(files_);
  Saver all({.max_to_keep = 0, .files = &watched, .clock = &clock_});
  all.record_metrics_later("d/m-1", {{"loss", std::nan("")}});
  all.save(*session_, "d/m", 1);
  EXPECT_TRUE(std::isnan(read_sidecar(files_, "d/m-1")->metrics.at("loss")));
  const size_t num_reads = watched.reads().size();
  all.save(*session_, "d/m", 2);
  std::vector<std::string> reads = watched.reads();
  reads.erase(reads.begin(), reads.begin() + static_cast<ptrdiff_t>(num_reads));
  EXPECT_THAT(reads, Not(Contains(HasSubstr("d/m-1"))));
}

TEST_F(SaverRetentionTest, PinsOutliveProcesses) {
  Saver first = saver({.max_to_keep = 1});
  save_steps(first, {1, 2});
  first.pin("d/m-2");
  save_steps(first, {3});
  set_pinned(files_, "d/m-3", true);
  Saver second = saver({.max_to_keep = 1});
  save_steps(second, {4, 5});
  EXPECT_THAT(on_disk(), ElementsAre("d/m-2", "d/m-3", "d/m-5"));
  second.unpin("d/m-2");
  save_steps(second, {6});
  EXPECT_THAT(on_disk(), ElementsAre("d/m-3", "d/m-6"));
}

// As happens after an error that follows its publication.
TEST_F(SaverRetentionTest, SavingTheSameStateAgainKeepsItsPinAndMetrics) {
  Saver saver = this->saver({.max_to_keep = 1});
  save_steps(saver, {1});
  saver.pin("d/m-1");
  saver.record_metrics("d/m-1", {{"loss", 0.5}});
  save_steps(saver, {1});
  const auto sidecar = read_sidecar(files_, "d/m-1");
  ASSERT_TRUE(sidecar);
  EXPECT_TRUE(sidecar->pinned);
  EXPECT_THAT(sidecar->metrics, ElementsAre(testing::Pair("loss", 0.5)));
  save_steps(saver, {2});
  EXPECT_TRUE(exists("d/m-1"));
}

TEST_F(SaverRetentionTest, ACheckpointWithoutItsSidecarIsNotRemoved) {
  for (const bool is_damaged : {false, true}) {
    Saver one = saver({.max_to_keep = 1});
    save_steps(one, {1});
    if (is_damaged)
      internal::put_file(files_, "d/m-1.json", "{}");
    else
      files_.remove("d/m-1.json");
    save_steps(one, {2, 3});
    EXPECT_THAT(on_disk(), ElementsAre("d/m-1", "d/m-3"));
    EXPECT_THAT(one.last_checkpoints(), ElementsAre("d/m-3"));
    for (const std::string& prefix : on_disk()) remove_checkpoint(files_, prefix);
  }
}

// Such as a sidecar that was copied from another checkpoint.
TEST_F(SaverRetentionTest, IgnoresASidecarThatDoesNotMatchItsIndex) {
  Saver first = saver({.max_to_keep = 1});
  save_steps(first, {1});
  auto sidecar = *read_sidecar(files_, "d/m-1");
  ++sidecar.index_crc32c;
  write_sidecar(files_, "d/m-1", sidecar);
  Saver second = saver({.max_to_keep = 1});
  save_steps(second, {2});
  EXPECT_THAT(on_disk(), ElementsAre("d/m-1", "d/m-2"));
}

TEST_F(SaverRetentionTest, CompletesARemovalThatWasKilled) {
  Saver first = saver({.max_to_keep = 1});
  save_steps(first, {1});
  FailingFileSystem failing(files_);
  SaverOptions options = first.options();
  options.files = &failing;
  Saver killed(options);
  // It is killed at the removal, after everything before it is done.
  for (int64_t n = 0; !(on_disk().size() == 2 && failing.num_failures() > 0); ++n) {
    failing.fail_operation(failing.num_operations() + n, Code::kUnknown, Failing::kFromThenOn);
    try {
      killed.save(*session_, "d/m", 2);
    } catch (const Error&) {
      remove_checkpoint(files_, "d/m-2");
    }
  }
  EXPECT_THAT(on_disk(), ElementsAre("d/m-1", "d/m-2"));
  EXPECT_THAT(get_checkpoint_state(files_, "d")->removing_paths, ElementsAre("d/m-1"));
  Saver second = saver({.max_to_keep = 1});
  save_steps(second, {3});
  EXPECT_THAT(on_disk(), ElementsAre("d/m-3"));
}

TEST_F(SaverRetentionTest, JumpsOfTheClockHaveNoEffect) {
  for (const double jump : {-20.0, 20.0}) {
    FakeClock clock(1'700'000'000);
    MemoryFileSystem files;
    SaverOptions options{
        .max_to_keep = 1, .keep_checkpoint_every_n_hours = 1, .files = &files, .clock = &clock};
    auto saver = std::make_unique<Saver>(options);
    for (int64_t step = 1; step <= 18; ++step) {
      if (step == 5) clock.set_wall_time(1'700'000'000 + jump * 365 * 24 * 3600);
      if (step == 9 && jump < 0) saver = std::make_unique<Saver>(options);
      clock.advance(minutes(20));
      saver->save(*session_, "d/m", step);
    }
    EXPECT_THAT(list_checkpoints(files, "d", "m"),
                ElementsAre("d/m-3", "d/m-6", "d/m-9", "d/m-12", "d/m-15", "d/m-18"))
        << jump;
  }
}

// One sidecar, or the state file, written by a program whose clock was wrong.
TEST_F(SaverRetentionTest, AnImplausibleTimeDoesNotDisableThePolicies) {
  constexpr double kYear9999 = 253'402'300'799;
  for (const bool in_state : {true, false}) {
    FakeClock clock(1'700'000'000);
    MemoryFileSystem files;
    const SaverOptions options{
        .max_to_keep = 1, .keep_checkpoint_every_n_hours = 1, .files = &files, .clock = &clock};
    Saver(options).save(*session_, "d/m", 1);
    if (in_state)
      update_checkpoint_state(files, "d", "d/m-1", {"d/m-1"},
                              {.last_preserved_timestamp = kYear9999});
    else
      update_sidecar(files, "d/m-1", [](CheckpointSidecar& sidecar) {
        sidecar.unix_time = sidecar.retention_time = kYear9999;
      });
    Saver saver(options);
    for (int64_t step = 2; step <= 8; ++step) {
      clock.advance(minutes(20));
      saver.save(*session_, "d/m", step);
    }
    const auto there = list_checkpoints(files, "d", "m");
    if (in_state)  // An hour after the start, the only known time.
      EXPECT_THAT(there, ElementsAre("d/m-5", "d/m-8"));
    else
      EXPECT_THAT(there, ElementsAre("d/m-4", "d/m-7", "d/m-8"));
  }
}

TEST_F(SaverRetentionTest, PreservedCheckpointsAreKeptWithoutAStateFile) {
  Saver first = saver({.max_to_keep = 1, .keep_checkpoint_every_n_steps = 10});
  save_steps(first, {10, 20, 25});
  files_.remove("d/checkpoint");
  Saver second = saver({.max_to_keep = 1});
  save_steps(second, {26});
  EXPECT_THAT(on_disk(), ElementsAre("d/m-10", "d/m-20", "d/m-26"));
}

TEST_F(SaverRetentionTest, SavingWithFewerDataFilesRemovesTheOthers) {
  Saver many = saver({.num_shards = 3});
  save_steps(many, {1});
  Saver one = saver({.num_shards = 1});
  save_steps(one, {1});
  EXPECT_THAT(files_.list("d"), ElementsAre("checkpoint", "m-1.data-00000-of-00001", "m-1.index",
                                            "m-1.json", "m-1.meta"));
  // After a kill before that, the next start removes them.
  internal::put_file(files_, "d/m-1.data-00000-of-00003", "old");
  remove_leftovers(files_, "d", "m");
  EXPECT_FALSE(files_.exists("d/m-1.data-00000-of-00003"));
  EXPECT_TRUE(files_.exists("d/m-1.data-00000-of-00001"));
}

TEST_F(SaverRetentionTest, SavesFromSeveralThreadsAreSerialised) {
  Saver shared = saver({.max_to_keep = 2});
  const Snapshot snapshot = shared.snapshot(*session_);
  {
    std::vector<std::jthread> threads;
    for (int64_t thread = 0; thread < 4; ++thread)
      threads.emplace_back([&, thread] {
        for (int64_t i = 0; i < 10; ++i) {
          internal::SavePromise promise(shared.prefix_of("d/m", 100 * thread + i), 100 * thread + i,
                                        clock_);
          internal::SaverAccess::write(shared, snapshot, promise);
          // One more per thread: policies are called between publishing and removing, without a
          // lock that would prevent the others from publishing.
          EXPECT_LE(shared.last_checkpoints().size(), 2u + 4u);
        }
      });
  }
  EXPECT_EQ(on_disk().size(), 2u);
  expect_state(shared.last_checkpoints());
  for (const std::string& prefix : on_disk()) CheckpointReader(prefix, files_).verify();
}

// Another save is published while a save asks the policies. The state file must not name an older
// checkpoint, or a removed one, as the newest.
TEST_F(SaverRetentionTest, AnOvertakenSaveDoesNotNameItselfTheNewest) {
  std::function<void()> overtake;
  Saver shared =
      saver({.max_to_keep = 1, .retention = {[&](const CheckpointRecord&, const RetentionContext&) {
                                 if (overtake) std::exchange(overtake, nullptr)();
                                 return Retention::kRemove;
                               }}});
  save_steps(shared, {1});
  overtake = [&] { save_steps(shared, {3}); };
  save_steps(shared, {2});
  EXPECT_FALSE(overtake);
  EXPECT_THAT(on_disk(), ElementsAre("d/m-3"));
  expect_state({"d/m-3"});
}

TEST_F(SaverRetentionTest, DamagedCheckpointsAreRemovedFromTheList) {
  const internal::DirectoryLock lock(files_, "d");
  Saver first = saver({.max_to_keep = 5});
  save_steps(first, {1, 2, 3});
  files_.create("d/m-3.data-00000-of-00001");  // Empties it.
  Saver second = saver({.max_to_keep = 2});
  EXPECT_THAT(second.restore_newest(*session_, "d", "m"), RestoredFrom("d/m-2"));
  EXPECT_THAT(second.last_checkpoints(), ElementsAre("d/m-1", "d/m-2"));
  expect_state({"d/m-1", "d/m-2"});
  save_steps(second, {3});
  EXPECT_THAT(on_disk(), ElementsAre("d/m-2", "d/m-3"));
}

}  // namespace
}  // namespace crochet
