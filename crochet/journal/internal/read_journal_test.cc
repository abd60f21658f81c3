// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/journal/internal/read_journal.h"

#include <unistd.h>

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/temp_directory.h"

namespace crochet::inline v0::internal {
namespace {

class ReadJournalTest : public testing::Test {
 protected:
  ReadJournalTest() { files_.create_directories("run"); }
  void put(const std::string& text, const std::string& name = "run/events.jsonl") {
    files_.create(name)->append(text);
  }

  MemoryFileSystem files_;
  const std::string start_ = R"({"event":"start","life":3,"step":0,"time":1.5,"steady":2})";
};

TEST_F(ReadJournalTest, WithoutAJournalNothingIsFound) {
  EXPECT_THROW(static_cast<void>(read_journal(files_, "run")), NotFoundError);
  EXPECT_EQ(last_life(files_, "run/events.jsonl").number, 0);
}

TEST_F(ReadJournalTest, TheRenamedFileComesFirst) {
  put(start_ + "\n", "run/events.old.jsonl");
  EXPECT_EQ(read_journal(files_, "run").entries.size(), 1);  // A rotation is under way.
  put(R"({"event":"end","life":3,"step":9,"time":2.5,"steady":3})"
      "\n");
  const JournalEntries found = read_journal(files_, "run");
  ASSERT_EQ(found.entries.size(), 2);
  EXPECT_EQ(found.entries[0].event, "start");
  EXPECT_EQ(found.entries[1].stamp.step, 9);
}

TEST_F(ReadJournalTest, WhatIsNotAnEventIsCounted) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  put(start_ + "\n\n" + "garbage\n" + "[1]\n" + "{}\n" + deep + "\n" +
      R"({"event":"x","life":-1,"step":0,"time":1,"steady":2})"
      "\n"
      R"({"event":"x","life":1e300,"step":0,"time":1,"steady":2})"
      "\n"
      R"({"event":"x","life":1,"step":0.5e300,"time":1,"steady":2})"
      "\n"
      R"({"event":1,"life":1,"step":0,"time":1,"steady":2})"
      "\n"
      R"({"event":"x","life":1,"step":0,"time":"NaN","steady":2})"
      "\n" +
      start_);
  const JournalEntries found = read_journal(files_, "run");
  EXPECT_EQ(found.entries.size(), 2);
  EXPECT_EQ(found.num_unreadable, 9);
  EXPECT_EQ(last_life(files_, "run/events.jsonl").number, 3);
}

TEST_F(ReadJournalTest, TheEndOfTheFileIsThatOfItsLastLife) {
  put(R"({"event":"end","life":1,"step":90,"time":1,"steady":1}
{"event":"start","life":2,"step":0,"time":2,"steady":1}
{"event":"progress","life":2,"step":30,"time":3,"steady":1}
{"event":"saved","life":2,"step":20,"time":4,"steady":1}
)");
  const LastLife killed = last_life(files_, "run/events.jsonl");
  EXPECT_EQ(killed.number, 2);
  EXPECT_EQ(killed.step, 30);
  EXPECT_EQ(killed.time, 4);
  EXPECT_FALSE(killed.has_ended);
  put(R"({"event":"end","life":1,"step":90,"time":1,"steady":1})");
  EXPECT_TRUE(last_life(files_, "run/events.jsonl").has_ended);
}

TEST_F(ReadJournalTest, ALifeBeyondTheLargestIsNotAnEvent) {
  put(R"({"event":"x","life":9007199254740994,"step":0,"time":1,"steady":2})"
      "\n");
  EXPECT_EQ(read_journal(files_, "run").num_unreadable, 1);
  put(R"({"event":"x","life":9007199254740992,"step":0,"time":1,"steady":2})"
      "\n");
  EXPECT_EQ(last_life(files_, "run/events.jsonl").number, kMaxCount);
}

TEST_F(ReadJournalTest, FieldsOfUnknownTypesAreLeftOut) {
  put(R"({"event":"x","life":1,"step":0,"time":1,"steady":2,"a":null,"b":{"c":1},"d":["e",1,"f"]})");
  const JournalEntries found = read_journal(files_, "run");
  ASSERT_EQ(found.entries.size(), 1);
  EXPECT_EQ(found.entries[0].text("a"), "");
  EXPECT_EQ(found.entries[0].number("b"), std::nullopt);
  EXPECT_EQ(found.entries[0].text("d"), "e f");
  EXPECT_EQ(found.entries[0].texts.size(), 1);  // Those of the stamp are not among them.
  EXPECT_TRUE(found.entries[0].numbers.empty());
}

TEST(ReadJournalOnDiskTest, AHugeFileIsRefused) {
  const TempDirectory directory;
  FileSystem& files = FileSystem::posix();
  const std::string path = directory.path() + "/events.jsonl";
  files.create(path)->append("x");
  ASSERT_EQ(::truncate(path.c_str(), int64_t{1} << 37), 0);
  EXPECT_THROW(static_cast<void>(read_journal(files, directory.path())), DataLossError);
  EXPECT_EQ(last_life(files, path).number, 0);
}

}  // namespace
}  // namespace crochet::inline v0::internal
