// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/torch/internal/zip_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/raw_bundle.h"
#include "tests/support/raw_zip.h"

namespace crochet {
namespace {

using internal::RawZip;
using internal::ZipDirectory;
using testing::HasSubstr;
using testing::ThrowsMessage;

class ZipDirectoryTest : public testing::Test {
 protected:
  ZipDirectory read(const std::string& bytes) {
    internal::put_file(files_, "a.pt", bytes);
    file_ = files_.open("a.pt");
    return internal::read_zip_directory(*file_, "a.pt");
  }
  std::string content(const ZipDirectory& directory, const std::string& name) {
    return internal::read_zip_entry(*file_, "a.pt", name, directory.at(name), 100);
  }
  std::string error_of(const std::string& bytes) {
    try {
      read(bytes);
    } catch (const DataLossError& error) {
      return error.what();
    }
    return "";
  }
  std::string error_of(const RawZip& zip) { return error_of(zip.bytes()); }

  MemoryFileSystem files_;
  std::unique_ptr<ReadableFile> file_;
};

RawZip two_entries() {
  RawZip zip;
  zip.add("a", "first");
  zip.add("b/c", "");
  return zip;
}

TEST_F(ZipDirectoryTest, ReadsStoredEntries) {
  const ZipDirectory directory = read(two_entries().bytes());
  ASSERT_EQ(directory.size(), 2);
  EXPECT_EQ(content(directory, "a"), "first");
  EXPECT_EQ(content(directory, "b/c"), "");
  EXPECT_TRUE(read(RawZip().bytes()).empty());
}

TEST_F(ZipDirectoryTest, ReadsZip64) {
  RawZip zip = two_entries();
  zip.has_zip64_end = true;
  for (internal::RawZipEntry& entry : zip.entries) entry.has_zip64 = true;
  const ZipDirectory directory = read(zip.bytes());
  EXPECT_EQ(content(directory, "a"), "first");
}

TEST_F(ZipDirectoryTest, ChecksTheChecksumOfAnEntry) {
  RawZip zip = two_entries();
  zip.entries[0].crc32 ^= 1;
  const ZipDirectory directory = read(zip.bytes());
  EXPECT_THAT([&] { content(directory, "a"); },
              ThrowsMessage<DataLossError>(HasSubstr("a.pt: crc32 of the zip entry \"a\" at")));
}

TEST_F(ZipDirectoryTest, RefusesToReadWhatIsCompressedEncryptedOrTooLarge) {
  RawZip zip = two_entries();
  zip.entries[0].method = 8;
  zip.entries[1].flags = 1;
  zip.add("large", std::string(101, 'x'));
  const ZipDirectory directory = read(zip.bytes());
  EXPECT_THAT([&] { content(directory, "a"); },
              ThrowsMessage<UnimplementedError>(HasSubstr("\"a\" is compressed or encrypted")));
  EXPECT_THROW(content(directory, "b/c"), UnimplementedError);
  EXPECT_THAT([&] { content(directory, "large"); },
              ThrowsMessage<DataLossError>(HasSubstr("has 101 bytes, expected at most 100")));
}

TEST_F(ZipDirectoryTest, RejectsEntriesThatOverlapOccurTwiceOrReachOutside) {
  RawZip zip = two_entries();
  zip.entries[1].name = "a";
  EXPECT_THAT(error_of(zip), HasSubstr("the zip entry \"a\" occurs twice"));
  zip = two_entries();
  zip.entries[0].listed_size = 9;
  zip.entries[0].flags = 8;
  EXPECT_THAT(error_of(zip), HasSubstr("the zip entry \"b/c\" at offset 36 overlaps"));
  zip.entries[0].listed_size = 1000;
  EXPECT_THAT(error_of(zip),
              HasSubstr("\"a\" at offset 0 has 1000 bytes, but the directory begins"));
  zip = two_entries();
  zip.entries[1].listed_offset = 100'000;
  EXPECT_THAT(error_of(zip), HasSubstr("is outside the file"));
}

TEST_F(ZipDirectoryTest, RejectsAHeaderThatContradictsTheDirectory) {
  RawZip zip = two_entries();
  zip.entries[0].listed_name = "x";
  EXPECT_THAT(error_of(zip), HasSubstr("has another name or type in its header"));
  zip = two_entries();
  zip.entries[0].listed_size = 4;
  EXPECT_THAT(error_of(zip), HasSubstr("has another size or checksum in its header"));
}

TEST_F(ZipDirectoryTest, RejectsEveryTruncation) {
  RawZip zip = two_entries();
  for (const bool has_zip64_end : {false, true}) {
    zip.has_zip64_end = has_zip64_end;
    const std::string good = zip.bytes();
    for (size_t size = 0; size < good.size(); ++size)
      EXPECT_NE(error_of(good.substr(0, size)), "") << size;
    EXPECT_NE(error_of(good + "x"), "");
    EXPECT_NE(error_of("x" + good), "");
  }
}

}  // namespace
}  // namespace crochet
