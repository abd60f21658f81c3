// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <leveldb/env.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/table.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle/internal/coding.h"
#include "crochet/io/internal/crc32c.h"
#include "tests/support/decoded_table.h"
#include "tests/support/encoded_table.h"

namespace crochet::internal {
namespace {

using testing::HasSubstr;
using testing::Property;
using testing::Throws;

using Entries = std::map<std::string, std::string>;

Entries many_entries(int count) {
  Entries entries{{"", "header"}};
  for (int i = 0; i < count; ++i)
    entries[fmt::format("layer{}/weights_{}", i % 97, i)] =
        std::string(i % 50, static_cast<char>(i));
  return entries;
}

TableEntries as_table(const Entries& entries) { return {entries.begin(), entries.end()}; }

// The bytes of a table, for LevelDB's reader.
class StringSource final : public leveldb::RandomAccessFile {
 public:
  explicit StringSource(std::string_view bytes) : bytes_(bytes) {}
  leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice* result, char*) const override {
    const std::string_view part = bytes_.substr(offset, n);
    *result = leveldb::Slice(part.data(), part.size());
    return {};
  }

 private:
  std::string_view bytes_;
};

TableEntries read_with_leveldb(std::string_view bytes) {
  StringSource source(bytes);
  leveldb::Options options;
  options.paranoid_checks = true;
  leveldb::Table* opened = nullptr;
  EXPECT_TRUE(leveldb::Table::Open(options, &source, bytes.size(), &opened).ok());
  const std::unique_ptr<leveldb::Table> table(opened);
  const std::unique_ptr<leveldb::Iterator> item(table->NewIterator({}));
  TableEntries entries;
  for (item->SeekToFirst(); item->Valid(); item->Next())
    entries.emplace_back(item->key().ToString(), item->value().ToString());
  EXPECT_TRUE(item->status().ok());
  return entries;
}

// Builds tables byte by byte, including invalid ones.
class TableBytes {
 public:
  // Returns the handle.
  std::string add_block(std::string_view content, char type = 0) {
    std::string handle;
    put_varint64(handle, bytes_.size());
    put_varint64(handle, content.size());
    std::string block(content);
    block += type;
    put_fixed32(block, mask_crc32c(crc32c(block)));
    bytes_ += block;
    return handle;
  }

  static std::string entry(uint32_t shared, std::string_view key_tail, std::string_view value) {
    std::string bytes;
    put_varint64(bytes, shared);
    put_varint64(bytes, key_tail.size());
    put_varint64(bytes, value.size());
    return bytes.append(key_tail).append(value);
  }

  static std::string block(std::string_view entries) {
    std::string content(entries);
    put_fixed32(content, 0);
    put_fixed32(content, 1);
    return content;
  }

  // Closes the table with an index of these data blocks.
  std::string finish(const std::vector<std::string>& handles) {
    std::string index;
    for (const std::string& handle : handles) index += entry(0, "z", handle);
    const std::string metaindex = add_block(block(""));
    std::string footer = metaindex + add_block(block(index));
    footer.resize(40);
    put_fixed32(footer, 0x8b80fb57);
    put_fixed32(footer, 0xdb477524);
    return bytes_ + footer;
  }

 private:
  std::string bytes_;
};

std::string table_of(std::string_view entries, char type = 0) {
  TableBytes table;
  return table.finish({table.add_block(TableBytes::block(entries), type)});
}

MATCHER_P(IsDataLoss, text, "") {
  const auto matcher = Throws<DataLossError>(
      Property(&DataLossError::what, testing::AllOf(HasSubstr("x.index"), HasSubstr(text))));
  return testing::ExplainMatchResult(
      matcher, [&] { decode_table(arg, "x.index"); }, result_listener);
}

TEST(TableTest, RoundTrips) {
  for (const int count : {0, 1, 15, 16, 17, 100'000}) {
    const Entries entries = many_entries(count);
    EXPECT_EQ(decode_table(encode_table(entries), "x.index"), as_table(entries)) << count;
  }
}

TEST(TableTest, AgreesWithLevelDbsReader) {
  const std::string bytes = encode_table(many_entries(20'000));
  EXPECT_EQ(decode_table(bytes, "x.index"), read_with_leveldb(bytes));
}

TEST(TableTest, LargeEntriesRoundTrip) {
  const Entries entries{{"a", "1"},
                        {"b", std::string(600'000, 'b')},
                        {"c", "3"},
                        {"d", std::string(300'000, 'd')},
                        {"e", "5"}};
  const std::string bytes = encode_table(entries);
  EXPECT_EQ(decode_table(bytes, "x.index"), as_table(entries));
  EXPECT_EQ(read_with_leveldb(bytes), as_table(entries));
}

TEST(TableTest, RefusesCompressedBlocks) {
  TableBytes table;
  const std::string plain = table.add_block(TableBytes::block(TableBytes::entry(0, "", "header")));
  const std::string packed = table.add_block("packed", 1);
  const std::string bytes = table.finish({plain, packed});
  EXPECT_THAT([&] { decode_table(bytes, "x.index"); },
              testing::ThrowsMessage<UnimplementedError>(testing::AllOf(
                  HasSubstr("x.index: the block at offset 22 is compressed: found type 1 (Snappy), "
                            "expected 0"),
                  HasSubstr("write it again without compression"))));
}

// Otherwise bytes without their own checksum would decide what is wrong with the file.
TEST(TableTest, ABlockThatIsDamagedIntoACompressedOneIsDataLoss) {
  TableBytes table;
  const std::string handle = table.add_block(TableBytes::block(""));
  std::string bytes = table.finish({handle});
  ASSERT_EQ(bytes[8], 0);  // The type, after the restarts.
  bytes[8] = 1;
  EXPECT_THAT(bytes, IsDataLoss("crc32c of the block at offset 0"));
}

TEST(TableTest, DetectsEveryFlippedBitExceptInTheFootersPadding) {
  const Entries entries = many_entries(3);
  const std::string good = encode_table(entries);
  size_t num_unnoticed = 0;
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    try {
      EXPECT_EQ(decode_table(bad, "x.index"), as_table(entries)) << "bit " << bit;
      ++num_unnoticed;
    } catch (const DataLossError&) {
    }
  }
  EXPECT_LE(num_unnoticed, 8 * 40u);
}

TEST(TableTest, DetectsEveryTruncation) {
  const std::string good = encode_table(many_entries(3));
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_THAT(good.substr(0, size), IsDataLoss("")) << size << " bytes";
}

TEST(TableTest, RejectsHandlesOutsideTheFile) {
  for (const uint64_t offset : {uint64_t{1000}, uint64_t{1} << 40, UINT64_MAX}) {
    TableBytes table;
    std::string handle;
    put_varint64(handle, offset);
    put_varint64(handle, UINT64_MAX - offset + 20);
    EXPECT_THAT(table.finish({handle}), IsDataLoss(fmt::format("at offset {}", offset)));
  }
}

TEST(TableTest, RejectsAnIncompleteHandle) {
  TableBytes table;
  EXPECT_THAT(table.finish({"\x80"}), IsDataLoss("an incomplete block handle"));
}

TEST(TableTest, RejectsOverlappingBlocks) {
  TableBytes table;
  const std::string handle = table.add_block(TableBytes::block(""));
  EXPECT_THAT(table.finish(std::vector<std::string>(10, handle)), IsDataLoss("overlaps"));
}

TEST(TableTest, RejectsAnUnknownBlockType) {
  for (const int type : {2, 128, 255})
    EXPECT_THAT(table_of("", static_cast<char>(type)),
                IsDataLoss(fmt::format("the block at offset 0 has type {}, expected 0", type)));
}

TEST(TableTest, RejectsEntriesThatRunPastTheirBlock) {
  EXPECT_THAT(table_of(std::string("\x00\x7f\x00", 3)), IsDataLoss("malformed"));
  EXPECT_THAT(table_of(std::string("\x00\x00\x7f", 3)), IsDataLoss("malformed"));
  EXPECT_THAT(table_of("\x01"), IsDataLoss("malformed"));
  // shared exceeds the previous key.
  EXPECT_THAT(table_of(TableBytes::entry(1, "a", "")), IsDataLoss("malformed"));
}

TEST(TableTest, RejectsKeysThatDoNotIncrease) {
  const std::string once = TableBytes::entry(0, "a", "1");
  EXPECT_THAT(table_of(once + once), IsDataLoss("do not increase"));
  EXPECT_THAT(table_of(TableBytes::entry(0, "b", "1") + once), IsDataLoss("do not increase"));
}

TEST(TableTest, RejectsMoreRestartPointsThanFit) {
  for (const std::string_view content :
       {std::string_view("\xff\xff\xff\xff", 4), std::string_view("\1\0\0\0", 4),
        std::string_view("abc")}) {
    TableBytes table;
    EXPECT_THAT(table.finish({table.add_block(content)}), IsDataLoss("restart points"));
  }
}

// A few bytes per entry, each of which repeats one long key, but not often.
TEST(TableTest, ReadsLongKeysWithFewBytesEach) {
  std::string entries = TableBytes::entry(0, std::string(100'000, 'a'), "");
  for (uint32_t i = 0; i < 10; ++i) entries += TableBytes::entry(100'000 + i, "b", "");
  EXPECT_EQ(decode_table(table_of(entries), "x.index").size(), 11u);
}

// A few bytes per entry, each of which repeats one long key.
TEST(TableTest, RejectsKeysThatWouldFillTheMemory) {
  std::string entries = TableBytes::entry(0, std::string(10'000, 'a'), "");
  for (uint32_t i = 0; i < 10'000; ++i) entries += TableBytes::entry(10'000 + i, "b", "");
  EXPECT_THAT(table_of(entries), IsDataLoss("keys of more than"));
}

}  // namespace
}  // namespace crochet::internal
