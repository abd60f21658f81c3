// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/any_format/internal/file_format.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/internal/chosen_checkpoint.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/checkpoint_contents.h"
#include "tests/support/raw_bundle.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

class FileFormatTest : public testing::Test {
 protected:
  static std::string golden(const std::string& name) {
    return read_file(FileSystem::posix(),
                     fmt::format("{}/tests/golden/{}", CROCHET_SOURCE_DIR, name));
  }
  void put(const std::string& path, const std::string& content) {
    internal::put_file(files_, path, content);
  }

  MemoryFileSystem files_;
};

// A cache names files by their hash, and has links to them under other names.
TEST_F(FileFormatTest, AFileIsRecognizedByItsContent) {
  const std::pair<std::string, CheckpointFormat> of_formats[] = {
      {"torch/state_dict.pt", CheckpointFormat::kTorch},
      {"torch/legacy.pt", CheckpointFormat::kTorch},
      {"torch/views_legacy4.pt", CheckpointFormat::kTorch},
      {"safetensors/types.safetensors", CheckpointFormat::kSafetensors},
      {"safetensors/none.safetensors", CheckpointFormat::kSafetensors},
      {"safetensors/shards.safetensors.index.json", CheckpointFormat::kSafetensors}};
  for (const auto& [name, format] : of_formats)
    for (const std::string path : {"0f3a", "model.bin", "model.pt", "model.safetensors"}) {
      put(path, golden(name));
      EXPECT_EQ(internal::format_of_file(files_, path), format) << name << " as " << path;
      EXPECT_EQ(internal::chosen_checkpoint(files_, "0f3a"), "0f3a");
      EXPECT_EQ(CheckpointReader(path, files_).format(), format) << name << " as " << path;
      files_.remove(path);
      put("0f3a", golden(name));
    }
}

TEST_F(FileFormatTest, AnIndexInACacheNamesFilesThatAreElsewhere) {
  files_.create_directories("blobs");
  put("blobs/0f3a", golden("safetensors/shards.safetensors.index.json"));
  const CheckpointReader reader("blobs/0f3a", files_);
  EXPECT_TRUE(reader.tensors().empty());
  EXPECT_EQ(reader.unreadable().at("a"),
            (UnreadableValue{Code::kNotFound,
                             "is in shards-00001-of-00002.safetensors, which is missing"}));
  EXPECT_THROW(reader.read("a"), NotFoundError);
}

TEST_F(FileFormatTest, TheSuffixCountsWhereTheContentSaysNothing) {
  put("a.pt", "text");
  put("a.safetensors", "text");
  put("a.txt", "text");
  EXPECT_EQ(internal::format_of_file(files_, "a.pt"), CheckpointFormat::kTorch);
  EXPECT_EQ(internal::format_of_file(files_, "a.safetensors"), CheckpointFormat::kSafetensors);
  EXPECT_EQ(internal::format_of_file(files_, "a.txt"), std::nullopt);
  EXPECT_EQ(internal::format_of_file(files_, "gone.pt"), std::nullopt);
  files_.create_directories("directory.pt");
  EXPECT_EQ(internal::format_of_file(files_, "directory.pt"), std::nullopt);
}

// What a download may leave: each reader says what the file is.
TEST_F(FileFormatTest, NamesFilesOfAnotherKind) {
  const std::string tar = std::string(257, 'x') + "ustar";
  const std::pair<std::string, std::string> others[] = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 988097824\n",
       "found a pointer of Git LFS, which stands for a file that is not here: `git lfs pull`"},
      {"/annex/objects/SHA256E-s9\n", "found a pointer of git-annex"},
      {"<!DOCTYPE html>\n<html></html>", "found an HTML page"},
      {"\xef\xbb\xbf \n<HTML><body>", "found an HTML page"},
      {"<?xml version=\"1.0\"?><Error/>", "found XML text"},
      {"\x1f\x8b\x08 and more of it", "found a file compressed by gzip"},
      {tar, "found a tar archive"},
      {"\x89HDF\r\n\x1a\n and more", "found an HDF5 file"},
      {"\x80\x04N.", "found a pickle that torch did not write"}};
  for (const auto& [content, expected] : others)
    for (const std::string suffix :
         {".pt", ".pth", ".bin", ".index", ".safetensors", ".safetensors.index.json"}) {
      MemoryFileSystem files;
      internal::put_file(files, "a" + suffix, content);
      EXPECT_THAT(
          [&] { CheckpointReader(internal::chosen_checkpoint(files, "a" + suffix), files); },
          ThrowsMessage<UnimplementedError>(
              AllOf(StartsWith("a" + suffix + ": expected "), HasSubstr(expected))))
          << suffix << " " << expected;
    }
}

TEST_F(FileFormatTest, ShowsOtherText) {
  put("a.safetensors", "{\"error\":\"Repository not found\"}");
  EXPECT_THAT([&] { CheckpointReader("a.safetensors", files_); },
              ThrowsMessage<DataLossError>(HasSubstr("Repository not found")));
}

}  // namespace
}  // namespace crochet
