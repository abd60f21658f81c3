// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/cloud/internal/store_files.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/directory/checkpoints_iterator.h"
#include "crochet/cloud/internal/local_checkpoints.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/memory_store.h"

namespace crochet::inline v0::cloud::internal {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

class StoreFilesTest : public testing::Test {
 protected:
  StoreFilesTest() { local_.create_directories("run"); }

  // Saves a checkpoint locally.
  void write(int step) {
    const std::string prefix = fmt::format("run/m-{}", step);
    crochet::internal::BundleWriter writer(local_, prefix);
    writer.add("w", Tensor::from<float>({1, 2, static_cast<float>(step)}));
    writer.finish();
    write_sidecar(local_, prefix, {.step = step, .unix_time = 1.0 + step});
  }
  void mirror(int step) {
    write(step);
    const auto opened =
        open_local(local_, "run", {.name = fmt::format("m-{}", step), .unix_time = 1.0 + step});
    Mirror(*store_, parse_s3_url("s3://bucket/x/run"), clock_)
        .add(opened.value().described, opened->files, 3, {});
  }
  // What a file of the newest copy has is changed.
  void damage(const std::string& name) {
    for (const std::string& key : store_->keys()) {
      if (key.find(name) == key.npos) continue;
      std::string bytes = store_->text_of(key);
      bytes.back() ^= 1;
      store_->set(key, bytes);
    }
  }

  MemoryFileSystem local_;
  FakeClock clock_;
  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  StoreFiles files_{local_,
                    [this](const std::string& bucket) {
                      EXPECT_EQ(bucket, "bucket");
                      return store_;
                    },
                    clock_};
};

TEST_F(StoreFilesTest, ReadsCheckpointsWhereTheyAre) {
  mirror(5);
  mirror(7);
  const CheckpointReader reader("s3://bucket/x/run/m-5", files_);
  EXPECT_EQ(reader.read("w"), Tensor::from<float>({1, 2, 5}));
  EXPECT_EQ(latest_checkpoint(files_, "s3://bucket/x/run"), "s3://bucket/x/run/m-7");
  EXPECT_EQ(read_sidecar(files_, "s3://bucket/x/run/m-7")->step, 7);
  EXPECT_THAT(files_.list("s3://bucket/x/run"),
              ElementsAre("checkpoint", "m-5.data-00000-of-00001", "m-5.index", "m-5.json",
                          "m-7.data-00000-of-00001", "m-7.index", "m-7.json"));
  EXPECT_EQ(files_.modified_time("s3://bucket/x/run/m-5.index"), 6);
  EXPECT_EQ(files_.fixed_path("s3://bucket/x"), "s3://bucket/x");
  EXPECT_TRUE(is_directory(files_, "s3://bucket/x/run"));
  EXPECT_FALSE(is_directory(files_, "s3://bucket/x/run/m-5.index"));
}

TEST_F(StoreFilesTest, FollowsARun) {
  mirror(5);
  CheckpointsIterator iterator(
      "s3://bucket/x/run",
      {.timeout_secs = 1, .checkpoint_basename = "m", .files = &files_, .clock = &clock_});
  EXPECT_EQ(iterator.next(), "s3://bucket/x/run/m-5");
  mirror(6);
  EXPECT_EQ(iterator.next(), "s3://bucket/x/run/m-6");
}

TEST_F(StoreFilesTest, OtherPathsAreOtherFiles) {
  write(1);
  EXPECT_EQ(files_.list("run"), local_.list("run"));
  replace_file(files_, "run/notes", "text");
  EXPECT_EQ(read_file(local_, "run/notes"), "text");
  EXPECT_EQ(CheckpointReader("run/m-1", files_).read("w"), Tensor::from<float>({1, 2, 1}));
  EXPECT_THAT(store_->keys(), IsEmpty());
}

TEST_F(StoreFilesTest, NothingIsChangedInAStore) {
  mirror(5);
  const auto before = store_->keys();
  const std::string path = "s3://bucket/x/run/m-5.index";
  EXPECT_THROW(files_.remove(path), UnimplementedError);
  EXPECT_THROW(files_.create(path), UnimplementedError);
  EXPECT_THROW(files_.append_to(path), UnimplementedError);
  EXPECT_THROW(files_.rename(path, "run/x"), UnimplementedError);
  EXPECT_THROW(files_.rename("run/m-5.index", path), UnimplementedError);
  EXPECT_THROW(files_.try_lock("s3://bucket/x/run/.lock"), UnimplementedError);
  EXPECT_THROW(files_.create_directories("s3://bucket/y"), UnimplementedError);
  EXPECT_THAT([&] { set_pinned(files_, "s3://bucket/x/run/m-5", true); },
              ThrowsMessage<UnimplementedError>(HasSubstr("nothing can be changed there")));
  EXPECT_EQ(store_->keys(), before);
}

TEST_F(StoreFilesTest, WhatIsMissingIsNotFound) {
  EXPECT_THROW(files_.list("s3://bucket/x/run"), NotFoundError);
  EXPECT_FALSE(files_.exists("s3://bucket/x/run"));
  EXPECT_THROW(CheckpointReader("s3://bucket/x/run/m-5", files_), NotFoundError);
  EXPECT_THROW(files_.list("s3://B/x"), InvalidArgumentError);
}

TEST_F(StoreFilesTest, ACopyThatIsRemovedUnderAReaderIsAnError) {
  mirror(5);
  const CheckpointReader reader("s3://bucket/x/run/m-5", files_);
  for (const std::string& key : store_->keys()) store_->remove(key, {});
  EXPECT_THROW(reader.read("w"), NotFoundError);
}

TEST_F(StoreFilesTest, WrongBytesAreAnError) {
  mirror(5);
  damage("data-00000-of-00001.0");
  EXPECT_THROW(CheckpointReader("s3://bucket/x/run/m-5", files_).read("w"), DataLossError);
}

TEST_F(StoreFilesTest, BringsACopyBack) {
  mirror(5);
  Mirror mirror(*store_, parse_s3_url("s3://bucket/x/run"), clock_);
  MemoryFileSystem others;
  bring_back(mirror, mirror.list({})[0], others, "new/run");
  EXPECT_EQ(latest_checkpoint(others, "new/run"), "new/run/m-5");
  for (const char* const name : {"m-5.data-00000-of-00001", "m-5.index", "m-5.json"})
    EXPECT_EQ(read_file(others, join_path("new/run", name)),
              read_file(local_, join_path("run", name)));
}

TEST_F(StoreFilesTest, NothingIsLeftOfACopyThatIsDamaged) {
  mirror(5);
  Mirror mirror(*store_, parse_s3_url("s3://bucket/x/run"), clock_);
  for (const char* const name : {"data-00000-of-00001.0", "json.0", "index.0"}) {
    damage(name);
    MemoryFileSystem others;
    EXPECT_THAT([&] { bring_back(mirror, mirror.list({})[0], others, "run"); },
                ThrowsMessage<DataLossError>(HasSubstr("crc32c")));
    EXPECT_THAT(others.list("run"), IsEmpty()) << name;
    damage(name);  // As it was.
  }
}

TEST_F(StoreFilesTest, ACheckpointThatIsReplacedIsNotMixed) {
  write(5);
  const auto before = local_checkpoints(local_, "run", "m");
  ASSERT_THAT(before, ElementsAre(LocalCheckpoint{"m-5", 6}));
  const auto opened = open_local(local_, "run", before[0]);
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(opened->files.back().name, "m-5.index");
  local_.remove("run/m-5.index");
  EXPECT_EQ(open_local(local_, "run", before[0]), std::nullopt);
}

}  // namespace
}  // namespace crochet::inline v0::cloud::internal
