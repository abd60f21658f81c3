// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/journal/internal/journal.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/journal/internal/read_journal.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/temp_directory.h"

namespace crochet::inline v0::internal {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// "1 start 0": life, event and step of each.
std::vector<std::string> lines_of(const JournalEntries& journal) {
  std::vector<std::string> lines;
  for (const JournalEntry& each : journal.entries)
    lines.push_back(fmt::format("{} {} {}", each.stamp.life, each.event, each.stamp.step));
  return lines;
}

class JournalTest : public testing::Test {
 protected:
  // A life that records `body`, and ends unless it is killed.
  template <typename Body>
  void live(FileSystem& files, const Body& body, bool is_killed = false) {
    const DirectoryLock lock(files, "run");
    const auto journal = Journal::begin("run", files, clock_);
    journal->open([&] { return JournalEvent("start"); });
    body(*journal);
    if (!is_killed) journal->end([&] { return JournalEvent("end"); });
  }
  void live() {
    live(files_, [](Journal&) {});
  }
  std::vector<std::string> lines(FileSystem& files) { return lines_of(read_journal(files, "run")); }
  std::vector<std::string> lines() { return lines(files_); }

  LogCapture log_;
  FakeClock clock_;
  MemoryFileSystem files_{clock_};
  const std::string path_ = "run/events.jsonl";
};

static_assert(!std::is_copy_constructible_v<JournalEvent>, "see journal_event.h");

TEST_F(JournalTest, EachEventIsALineOfJson) {
  live(files_, [&](Journal& journal) {
    clock_.advance(std::chrono::milliseconds(1500));
    journal.record([&] {
      return JournalEvent("saved", 20)
          .with("checkpoint", "run/model.ckpt-20")
          .with("secs", 0.25)
          .with("bytes", uint64_t{80})
          .with("is_last", true)
          .with("names", std::vector<std::string>{"a", "b\n"});
    });
  });
  EXPECT_EQ(read_file(files_, path_),
            "{\"event\":\"start\",\"life\":1,\"step\":0,\"time\":1000000000.0,\"steady\":3600.0}\n"
            "{\"event\":\"saved\",\"life\":1,\"step\":20,\"time\":1000000001.5,\"steady\":3601.5,"
            "\"checkpoint\":\"run/model.ckpt-20\",\"secs\":0.25,\"bytes\":80,\"is_last\":true,"
            "\"names\":[\"a\",\"b\\n\"]}\n"
            "{\"event\":\"end\",\"life\":1,\"step\":20,\"time\":1000000001.5,\"steady\":3601.5}\n");
  const JournalEntry saved = read_journal(files_, "run").entries.at(1);
  EXPECT_EQ(saved.text("checkpoint"), "run/model.ckpt-20");
  EXPECT_EQ(saved.text("names"), "a b\n");
  EXPECT_EQ(saved.number("bytes"), 80);
  EXPECT_EQ(saved.number("is_last"), 1);
  EXPECT_EQ(saved.number("none"), std::nullopt);
}

TEST_F(JournalTest, LivesAreCounted) {
  live();
  live(
      files_, [](Journal&) {}, /*is_killed=*/true);
  live();
  EXPECT_THAT(lines(), ElementsAre("1 start 0", "1 end 0", "2 start 0", "3 start 0", "3 end 0"));
}

// Whatever the file says, each life has a number that can be read again.
TEST_F(JournalTest, LifeOneFollowsTheLargest) {
  files_.create_directories("run");
  for (const int64_t offset : {2, 1, 0}) {
    files_.create(path_)->append(
        JournalEvent("start").line({.life = kMaxCount - offset, .time = 1, .steady = 2}));
    live();
    const int64_t next = offset == 0 ? 1 : kMaxCount - offset + 1;
    EXPECT_EQ(read_journal(files_, "run").entries.back().stamp.life, next);
    EXPECT_EQ(last_life(files_, path_).number, next);
  }
}

TEST_F(JournalTest, NothingIsRecordedAfterTheEnd) {
  live(files_, [](Journal& journal) {
    journal.end([&] { return JournalEvent("end"); });
    journal.record([&] { return JournalEvent("late"); });
  });
  EXPECT_THAT(lines(), ElementsAre("1 start 0", "1 end 0"));
}

TEST_F(JournalTest, OnlyTheOwnerOfTheDirectoryWrites) {
  files_.create_directories("run");
  const auto journal = Journal::begin("run", files_, clock_);
  journal->record([&] { return JournalEvent("early"); });
  journal->open([&] { return JournalEvent("start"); });
  journal->record([&] { return JournalEvent("saved"); });
  EXPECT_THAT(files_.list("run"), IsEmpty());
}

TEST_F(JournalTest, TheFirstEventsFollowTheStart) {
  const DirectoryLock lock(files_, "run");
  const auto journal = Journal::begin("run", files_, clock_);
  log_warning("early");
  clock_.advance(std::chrono::seconds(1));
  journal->open([&] { return JournalEvent("start", 7); });
  const auto entries = read_journal(files_, "run").entries;
  ASSERT_EQ(entries.size(), 2);
  EXPECT_EQ(entries[0].event, "start");
  EXPECT_EQ(entries[0].stamp.time, entries[1].stamp.time);
  EXPECT_EQ(entries[1].text("message"), "early");
}

TEST_F(JournalTest, IsFoundByItsDirectory) {
  EXPECT_EQ(Journal::find("run", files_), nullptr);
  {
    const auto journal = Journal::begin("run/", files_, clock_);
    EXPECT_EQ(Journal::find("run", files_), journal);
    EXPECT_EQ(Journal::find("other", files_), nullptr);
    MemoryFileSystem others;
    EXPECT_EQ(Journal::find("run", others), nullptr);
  }
  EXPECT_EQ(Journal::find("run", files_), nullptr);
}

TEST_F(JournalTest, WarningsAndErrorsOfTheLogAreEvents) {
  live(files_, [](Journal&) {
    log_info("not this");
    log_warning("careful");
    log_error("broken");
  });
  const auto entries = read_journal(files_, "run").entries;
  EXPECT_THAT(lines(), ElementsAre("1 start 0", "1 warning 0", "1 error 0", "1 end 0"));
  EXPECT_EQ(entries.at(1).text("message"), "careful");
  EXPECT_EQ(entries.at(2).text("message"), "broken");
}

TEST_F(JournalTest, AFloodOfWarningsIsCounted) {
  live(files_, [&](Journal&) {
    for (int i = 0; i < 1000; ++i) log_warning("again");
    clock_.advance(std::chrono::minutes(1));
    log_warning("later");
  });
  const auto entries = read_journal(files_, "run").entries;
  ASSERT_EQ(entries.size(), 1 + Journal::kMaxLogged + 3);
  EXPECT_EQ(entries.at(1 + Journal::kMaxLogged).event, "lost");
  EXPECT_EQ(entries.at(1 + Journal::kMaxLogged).number("events"), 1000 - Journal::kMaxLogged);
  EXPECT_EQ(entries.at(2 + Journal::kMaxLogged).text("message"), "later");
}

TEST_F(JournalTest, TheEndHasTheErrorOfTheLife) {
  live(files_, [](Journal& journal) {
    journal.fail(std::make_exception_ptr(DataLossError("the batch is broken")));
  });
  EXPECT_EQ(read_journal(files_, "run").entries.back().text("error"), "the batch is broken");
}

TEST_F(JournalTest, LongTextsAreCut) {
  live(files_, [](Journal& journal) {
    journal.record([&] {
      return JournalEvent("x")
          .with("text", std::string(100'000, 'a'))
          .with("list", std::vector<std::string>(10'000, std::string(10, 'b')));
    });
  });
  EXPECT_LT(files_.file_size(path_), 12'000);
  live();
  EXPECT_THAT(lines(), Contains("2 start 0"));
}

// What a kill leaves of the last line is gone with the next life; no other line is.
TEST_F(JournalTest, ATornLineIsRepaired) {
  live();
  const std::string whole = read_file(files_, path_);
  for (size_t length = 0; length <= whole.size(); ++length) {
    MemoryFileSystem files{clock_};
    files.create_directories("run");
    files.create(path_)->append(std::string_view(whole).substr(0, length));
    const auto before = lines(files);
    live(files, [](Journal&) {});
    const JournalEntries after = read_journal(files, "run");
    EXPECT_EQ(after.num_unreadable, 0) << length;
    const bool knows_life = length >= whole.find('\n');
    const auto expected = knows_life ? std::vector<std::string>{"2 start 0", "2 end 0"}
                                     : std::vector<std::string>{"1 start 0", "1 end 0"};
    std::vector<std::string> all = lines(files);
    ASSERT_GE(all.size(), 2) << length;
    EXPECT_EQ(std::vector<std::string>(all.end() - 2, all.end()), expected) << length;
    EXPECT_LE(before.size(), all.size()) << length;
  }
}

TEST_F(JournalTest, ZerosAfterAPowerCutAreCutOff) {
  live();
  const std::string whole = read_file(files_, path_);
  files_.append_to(path_)->append(std::string(5000, '\0'));
  live();
  EXPECT_TRUE(read_file(files_, path_).starts_with(whole + "{\"event\":\"start\",\"life\":2"));
}

TEST_F(JournalTest, ADamagedByteHidesAtMostItsLine) {
  live();
  const std::string whole = read_file(files_, path_);
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int bit : {0x01, 0x20, 0x80}) {
      MemoryFileSystem files{clock_};
      files.create_directories("run");
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ bit);
      files.create(path_)->append(damaged);
      live(files, [](Journal&) {});
      const JournalEntries found = read_journal(files, "run");
      EXPECT_GE(found.entries.size(), 2) << i;
      EXPECT_LE(found.num_unreadable, 3) << i;
      EXPECT_EQ(found.entries.back().event, "end") << i;
    }
  }
}

TEST_F(JournalTest, ALargeFileIsRotated) {
  live();
  {
    const auto file = files_.append_to(path_);
    const std::string line =
        "{\"event\":\"warning\",\"life\":1,\"step\":0,\"time\":0,\"steady\":0}\n";
    std::string block;
    while (block.size() < (1 << 20)) block += line;
    for (uint64_t size = 0; size < kMaxJournalBytes; size += block.size()) file->append(block);
  }
  live();
  EXPECT_EQ(read_file(files_, path_).substr(0, 27), "{\"event\":\"start\",\"life\":2,\"");
  EXPECT_GE(files_.file_size("run/events.old.jsonl"), kMaxJournalBytes);
  // The next life knows the number from the file that was just renamed.
  files_.remove(path_);
  live();
  EXPECT_EQ(read_file(files_, path_).substr(0, 27), "{\"event\":\"start\",\"life\":2,\"");
}

// So that a reader knows the process, however often the file was renamed.
TEST_F(JournalTest, EachFileBeginsWithTheStartOfItsLife) {
  live(files_, [&](Journal& journal) {
    const std::string text(4000, 'a');
    for (uint64_t size = 0; size < 2 * kMaxJournalBytes + 10'000; size += text.size())
      journal.record([&] { return JournalEvent("saved", 5).with("text", text); });
  });
  const JournalEntries found = read_journal(files_, "run");
  EXPECT_EQ(found.entries.front().event, "start");
  EXPECT_EQ(std::ranges::count(found.entries, "start", &JournalEntry::event), 2);
  EXPECT_EQ(found.entries.back().event, "end");
  EXPECT_EQ(found.num_unreadable, 0);
}

TEST_F(JournalTest, EventsWaitWhileTheDiskIsFull) {
  live(files_, [&](Journal& journal) {
    files_.set_capacity(files_.file_size(path_));
    journal.record([&] { return JournalEvent("saved", 1); });
    journal.record([&] { return JournalEvent("saved", 2); });
    EXPECT_THAT(lines(), ElementsAre("1 start 0"));
    EXPECT_TRUE(log_.contains("run/events.jsonl: events wait, as they cannot be written"));
    files_.set_capacity({});
    journal.record([&] { return JournalEvent("saved", 3); });
  });
  const auto all = lines();
  for (const int64_t step : {1, 2, 3})
    EXPECT_EQ(std::ranges::count(all, fmt::format("1 saved {}", step)), 1) << step;
}

// Whichever operation fails, and however much of it was done, no event is lost.
TEST_F(JournalTest, AnErrorLosesNothing) {
  for (const FailedWork work : {FailedWork::kNothing, FailedWork::kHalf, FailedWork::kAll}) {
    for (int64_t n = 0;; ++n) {
      MemoryFileSystem disk{clock_};
      FailingFileSystem files(disk);
      {
        const DirectoryLock lock(files, "run");
        files.fail_operation_with_errno(files.num_operations() + n, EIO);
        files.set_failed_work(work);
        const auto journal = Journal::begin("run", files, clock_);
        journal->open([&] { return JournalEvent("start"); });
        for (int64_t step = 1; step <= 3; ++step)
          journal->record([&] { return JournalEvent("saved", step); });
        journal->record_durably([&] { return JournalEvent("recovery"); });
        journal->record([&] { return JournalEvent("stop"); });
        if (files.num_failures() > 0) journal->record([&] { return JournalEvent("stop"); });
        journal->end([&] { return JournalEvent("end"); });
      }
      if (files.num_failures() == 0) break;
      const auto all = lines(disk);
      EXPECT_THAT(all, Contains("1 start 0")) << n;
      for (int64_t step = 1; step <= 3; ++step)
        EXPECT_THAT(all, Contains(fmt::format("1 saved {}", step))) << n;
      EXPECT_THAT(all, Contains("1 recovery 3")) << n;
    }
  }
}

TEST_F(JournalTest, StartAndEndSurviveAPowerCut) {
  live();
  EXPECT_EQ(lines(*files_.after_power_cut()), lines());
}

TEST_F(JournalTest, ThreadsWriteWholeLines) {
  live(files_, [](Journal& journal) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) {
          journal.record([&] { return JournalEvent("saved", i); });
          if (i % 50 == 0) log_warning("from a thread");
        }
      });
    for (std::thread& thread : threads) thread.join();
  });
  const JournalEntries found = read_journal(files_, "run");
  EXPECT_EQ(found.entries.size(), 2 + 400 + 8);
  EXPECT_EQ(found.num_unreadable, 0);
}

TEST(JournalOnDiskTest, AForkedProcessRecordsNothing) {
  const TempDirectory directory;
  FileSystem& files = FileSystem::posix();
  const std::string run = directory.path() + "/run";
  const DirectoryLock lock(files, run);
  const auto journal = Journal::begin(run, files, Clock::real());
  journal->open([&] { return JournalEvent("start"); });
  const pid_t child = ::fork();
  if (child == 0) {
    journal->record([&] { return JournalEvent("of the child"); });
    log_warning("of the child");
    journal->end([&] { return JournalEvent("end"); });
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  journal->end([&] { return JournalEvent("end"); });
  EXPECT_THAT(lines_of(read_journal(files, run)), ElementsAre("1 start 0", "1 end 0"));
}

// What a hostile directory may have instead: the run continues without a journal, and changes
// nothing outside its directory.
TEST(JournalOnDiskTest, WhatIsNotAPlainFileIsLeftAlone) {
  const TempDirectory directory;
  FileSystem& files = FileSystem::posix();
  const std::string run = directory.path() + "/run";
  const std::string path = run + "/events.jsonl";
  const std::string outside = directory.path() + "/outside";
  files.create(outside)->append("precious");
  const DirectoryLock lock(files, run);
  const std::vector<std::function<void()>> kinds = {
      [&] { files.make_symbolic_link(outside, path); },
      [&] { files.make_symbolic_link(directory.path() + "/nowhere", path); },
      [&] { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); },
      [&] { ASSERT_EQ(::mkdir(path.c_str(), 0700), 0); },
  };
  for (const auto& make : kinds) {
    make();
    LogCapture log;
    const auto journal = Journal::begin(run, files, Clock::real());
    journal->open([&] { return JournalEvent("start"); });
    journal->record([&] { return JournalEvent("saved"); });
    journal->end([&] { return JournalEvent("end"); });
    EXPECT_TRUE(log.contains("events wait, as they cannot be written"));
    try {  // A link may be read: users move files to other disks.
      EXPECT_THAT(read_journal(files, run).entries, IsEmpty());
    } catch (const Error&) {
    }
    ASSERT_TRUE(::unlink(path.c_str()) == 0 || ::rmdir(path.c_str()) == 0);
  }
  EXPECT_EQ(read_file(files, outside), "precious");
  EXPECT_FALSE(files.exists(directory.path() + "/nowhere"));
}

TEST(JournalOnDiskTest, AFileOfManyNamesIsReplacedByACopy) {
  const TempDirectory directory;
  FileSystem& files = FileSystem::posix();
  const std::string run = directory.path() + "/run";
  const DirectoryLock lock(files, run);
  files.create(run + "/other")->append("precious\n");
  files.link(run + "/other", run + "/events.jsonl");
  const auto journal = Journal::begin(run, files, Clock::real());
  journal->open([&] { return JournalEvent("start"); });
  journal->end([&] { return JournalEvent("end"); });
  EXPECT_EQ(read_file(files, run + "/other"), "precious\n");
  const JournalEntries found = read_journal(files, run);
  EXPECT_EQ(found.num_unreadable, 1);
  EXPECT_EQ(found.entries.size(), 2);
}

}  // namespace
}  // namespace crochet::inline v0::internal
