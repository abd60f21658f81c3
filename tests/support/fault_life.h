// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/directory/internal/checkpoint_directory.h"
#include "crochet/checkpoint/directory/internal/checkpoint_history.h"
#include "crochet/checkpoint/directory/internal/own_files.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/saver/internal/background_saver.h"
#include "crochet/checkpoint/saver/internal/save_promise.h"
#include "crochet/checkpoint/saver/internal/saver_access.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/step_state.h"

namespace crochet::inline v0::internal {

// For tests: the saving options of a run.
struct LifeOptions {
  std::string name;
  bool in_background = false;
  int num_shards = 1;
  int max_to_keep = 2;
  CheckpointFormat format = CheckpointFormat::kTensorBundle;
  std::string fallback_dir = {};

  friend void PrintTo(const LifeOptions& options, std::ostream* out) { *out << options.name; }
};

inline std::vector<LifeOptions> lives_in_one_directory() {
  return {{.name = "Saver"},
          {.name = "SaverOfThreeFiles", .num_shards = 3, .max_to_keep = 1},
          {.name = "BackgroundSaver", .in_background = true},
          {.name = "BackgroundSaverOfTwoFiles",
           .in_background = true,
           .num_shards = 2,
           .max_to_keep = 1},
          {.name = "Safetensors", .format = CheckpointFormat::kSafetensors},
          {.name = "BackgroundSafetensorsOfTwoFiles",
           .in_background = true,
           .num_shards = 2,
           .max_to_keep = 1,
           .format = CheckpointFormat::kSafetensors}};
}

inline std::vector<LifeOptions> lives_in_two_directories() {
  return {{.name = "SecondDirectory", .max_to_keep = 1, .fallback_dir = "second"},
          {.name = "BackgroundSecondDirectory", .in_background = true, .fallback_dir = "second"}};
}

inline std::vector<LifeOptions> all_lives() {
  std::vector<LifeOptions> lives = lives_in_one_directory();
  std::ranges::move(lives_in_two_directories(), std::back_inserter(lives));
  return lives;
}

// For tests: a run in a directory, from taking the lock to releasing it, that continues after
// failures as far as possible, and checks of what it leaves. The checks use only what the run
// learned: which steps were reported as durable, and which errors were reported.
class FaultLife {
 public:
  static constexpr const char* kDirectory = "d";
  static constexpr const char* kBasename = "model.ckpt";

  explicit FaultLife(LifeOptions options) : options_(std::move(options)) {}

  // The disk left by a run without faults that saved two steps.
  std::unique_ptr<MemoryFileSystem> disk_after_a_good_life() {
    MemoryFileSystem disk;
    live(disk, 2);
    EXPECT_EQ(newest_durable(), 2);
    return disk.after_power_cut();
  }

  // Restores, then trains and saves `num_saves` steps.
  void live(FileSystem& files, int num_saves) {
    const auto attempt = [this](const auto& part) {
      try {
        part();
        return true;
      } catch (const std::exception& error) {
        heard_.emplace_back(error.what());
        return false;
      }
    };
    FakeClock clock;
    Saver saver(saver_options(files, clock));
    BackgroundSaver background(saver);
    StepState state;
    const auto session = state.graph.new_session("");
    std::optional<DirectoryLock> lock;
    std::optional<DirectoryLock> second_lock;
    const auto enter = [&](std::optional<DirectoryLock>& held, const std::string& directory) {
      held.emplace(files, directory);
      remove_leftovers(files, directory, kBasename);
    };
    if (!attempt([&] { enter(lock, kDirectory); })) return;
    if (has_second()) attempt([&] { enter(second_lock, options_.fallback_dir); });  // Optional.
    if (!attempt([&] {
          saver.restore_newest(*session, kDirectory, kBasename);
          restored_step_ = read_global_step(*session);
          restored_whole_ = state.is_of_one_step(*session);
        }))
      return;
    for (int i = 0; i < num_saves; ++i) {
      state.advance(*session);
      attempt([&] { save(saver, background, *session, read_global_step(*session)); });
    }
    background.wait();
    for (const SaveTicket& ticket : background.take_finished())
      if (ticket.error()) heard_.push_back(describe(ticket.error()));
  }

  // The newest step reported as durable so far; 0 if there is none. From any thread.
  int64_t newest_durable() const {
    const std::lock_guard lock(mutex_);
    int64_t newest = 0;
    for (const SaveTicket& ticket : tickets_)
      if (ticket.stage() >= kPromised) newest = std::max(newest, ticket.step());
    return newest;
  }

  // Whether the state was restored, and training began.
  bool has_begun() const { return restored_step_ >= 0; }

  bool has_logged(std::string_view text) const { return log_.contains(text); }

  // Adds an error reported by a run that the test made itself.
  void hear(const std::string& what) { heard_.push_back(what); }

  // Expects that every failure was reported: thrown, in a ticket or logged.
  void expect_heard(const std::vector<std::string>& failures) const {
    std::vector<std::string> all = log_.lines();
    all.insert(all.end(), heard_.begin(), heard_.end());
    for (const std::string& failure : failures)
      EXPECT_THAT(all, testing::Contains(testing::HasSubstr(failure)));
  }

  // Expects that a new process finds all promised steps, cleans up leftovers, and continues.
  void expect_sound(MemoryFileSystem& disk, int64_t promised) const {
    // Leftovers that a start could not remove stay for the next one, which is logged.
    const bool was_not_cleared = std::ranges::any_of(log_.lines(), [](const std::string& line) {
      return line.find("leftovers of killed saves are not removed now") != std::string::npos ||
             line.find("leftover of an unfinished save cannot be") != std::string::npos;
    });
    std::set<std::string> saves;
    for (const std::string& directory : directories()) {
      const Leftovers left = leftovers(disk, directory);
      saves.insert(left.saves.begin(), left.saves.end());
      EXPECT_LE(left.removals.size(), was_not_cleared ? 2u : 1u)
          << testing::PrintToString(left.removals);
      for (const std::string& prefix : list_checkpoints(disk, directory, kBasename))
        EXPECT_TRUE(is_bit_equal(disk, prefix, step_of_prefix(prefix).value_or(-1))) << prefix;
      EXPECT_NO_THROW(get_checkpoint_state(disk, directory));
    }
    EXPECT_LE(saves.size(), 1u) << testing::PrintToString(saves);

    expect_restorable(disk, promised);
    FaultLife next(options_);
    next.live(disk, 1);
    EXPECT_THAT(next.heard_, testing::IsEmpty());
    EXPECT_GE(next.restored_step_, promised);
    EXPECT_TRUE(next.restored_whole_);
    EXPECT_EQ(next.newest_durable(), next.restored_step_ + 1);
    for (const std::string& directory : directories()) {
      EXPECT_THAT(leftovers(disk, directory).saves, testing::IsEmpty());
      EXPECT_THAT(leftovers(disk, directory).removals, testing::IsEmpty());
    }
    EXPECT_EQ(latest_checkpoint(disk, kDirectory),
              join_path(kDirectory, fmt::format("{}-{}", kBasename, next.newest_durable())));
  }

 private:
  // The stage from which a step must be found again.
  static constexpr SaveStage kPromised = SaveStage::kDurable;

  bool has_second() const { return !options_.fallback_dir.empty(); }
  std::vector<std::string> directories() const {
    if (!has_second()) return {kDirectory};
    return {kDirectory, options_.fallback_dir};
  }

  // With a saver alone: no lock, and no cleanup before.
  void expect_restorable(FileSystem& files, int64_t promised) const {
    FakeClock clock;
    Saver saver(saver_options(files, clock));
    StepState state;
    const auto session = state.graph.new_session("");
    EXPECT_EQ(saver.restore_newest(*session, kDirectory, kBasename).has_value(), promised > 0);
    EXPECT_GE(read_global_step(*session), promised);
    EXPECT_TRUE(state.is_of_one_step(*session));
  }

  // Checkpoints with files that do not belong to a usable checkpoint.
  struct Leftovers {
    std::set<std::string> saves;     // Unfinished saves.
    std::set<std::string> removals;  // Removals that were unfinished, or undone by a power cut.
  };

  static Leftovers leftovers(FileSystem& files, const std::string& directory) {
    Leftovers found;
    if (!files.exists(directory)) return found;
    const std::vector<std::string> sound = list_checkpoints(files, directory, kBasename);
    const int64_t newest = sound.empty() ? 0 : step_of_prefix(sound.back()).value_or(0);
    for (const std::string& name : files.list(directory)) {
      if (own_file(name) == OwnFile::kRecord) continue;
      const auto file = parse_checkpoint_filename(name);
      const std::string base(file ? file->base : std::string_view(name));
      if (!file || file->role == FileRole::kTemporary || step_of_prefix(base).value_or(0) > newest)
        found.saves.insert(is_temporary_state(name, "checkpoint") && !sound.empty()
                               ? base_name(sound.back())
                               : base);
      else if (!checkpoint_exists(files, join_path(directory, base)))
        found.removals.insert(base);
    }
    return found;
  }

  SaverOptions saver_options(FileSystem& files, Clock& clock) const {
    return {.format = options_.format,
            .num_shards = options_.num_shards,
            .max_to_keep = options_.max_to_keep,
            .fallback_dir = options_.fallback_dir,
            .files = &files,
            .clock = &clock};
  }

  void save(Saver& saver, BackgroundSaver& background, Session& session, int64_t step) {
    const std::string path = join_path(kDirectory, kBasename);
    if (options_.in_background) {
      add(background.enqueue(saver.snapshot(session), path, step));
      return;
    }
    SavePromise promise(saver.prefix_of(path, step), step, saver.clock());
    add(promise.ticket());
    SaverAccess::write(saver, saver.snapshot(session), promise);
  }

  void add(const SaveTicket& ticket) {
    const std::lock_guard lock(mutex_);
    tickets_.push_back(ticket);
  }

  const LifeOptions options_;
  LogCapture log_;
  std::vector<std::string> heard_;  // Errors that were thrown or in tickets.
  int64_t restored_step_ = -1;      // -1 before the restore.
  bool restored_whole_ = false;

  mutable std::mutex mutex_;  // Guards what follows.
  std::vector<SaveTicket> tickets_;
};

}  // namespace crochet::inline v0::internal
