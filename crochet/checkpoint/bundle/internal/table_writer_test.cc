// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/internal/table_writer.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>

#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/decoded_table.h"
#include "tests/support/encoded_table.h"

namespace crochet::internal {
namespace {

using Entries = std::map<std::string, std::string>;

// TensorFlow's: tensorflow/core/lib/io/table_options.h, table_builder.cc.
constexpr size_t kBlockBytes = 262144;
constexpr size_t kLargeEntryBytes = 2 * kBlockBytes;

class StringFile final : public leveldb::WritableFile {
 public:
  leveldb::Status Append(const leveldb::Slice& data) override {
    content_.append(data.data(), data.size());
    return {};
  }
  leveldb::Status Close() override { return {}; }
  leveldb::Status Flush() override { return {}; }
  leveldb::Status Sync() override { return {}; }

  const std::string& content() const { return content_; }

 private:
  std::string content_;
};

// The table that LevelDB writes with TensorFlow's sizes.
std::string encode_with_leveldb(const Entries& entries) {
  leveldb::Options options;
  options.compression = leveldb::kNoCompression;
  options.block_size = kBlockBytes;
  options.block_restart_interval = 16;
  StringFile file;
  leveldb::TableBuilder builder(options, &file);
  for (const auto& [key, value] : entries) {
    if (key.size() + value.size() >= kLargeEntryBytes) builder.Flush();
    builder.Add(key, value);
  }
  EXPECT_TRUE(builder.Finish().ok());
  return file.content();
}

// Not EXPECT_EQ, which would print megabytes.
bool is_as_leveldbs(const Entries& entries) {
  return encode_table(entries) == encode_with_leveldb(entries);
}

class RandomEntries {
 public:
  explicit RandomEntries(unsigned seed) : random_(seed) {}

  Entries operator()() {
    Entries entries;
    const size_t count = below(3) == 0 ? below(40) : below(3'000);
    const size_t max_value = size_t{1} << below(12);
    for (size_t i = 0; i < count; ++i) entries[key()] = std::string(below(max_value), value());
    if (below(2) == 0) entries[""] = "header";
    for (size_t i = below(4); i > 0; --i)
      entries[key()] = std::string(near(below(2) == 0 ? kBlockBytes : kLargeEntryBytes), value());
    return entries;
  }

 private:
  size_t below(size_t limit) { return random_() % limit; }
  size_t near(size_t bytes) { return bytes - 30 + below(40); }
  char value() { return static_cast<char>(below(256)); }

  // Few letters and few lengths, so that keys share prefixes and differ by one, next to 0xff.
  std::string key() {
    static constexpr std::string_view kLetters("\0\x01/ab\x7f\x80\xfe\xff", 9);
    std::string bytes(below(6) == 0 ? below(300) : 0, kLetters[below(kLetters.size())]);
    for (size_t i = below(8); i > 0; --i) bytes += kLetters[below(kLetters.size())];
    return bytes;
  }

  std::mt19937 random_;
};

TEST(TableWriterTest, WritesTheBytesOfLevelDbForRandomEntries) {
  for (unsigned seed = 0; seed < 300; ++seed)
    ASSERT_TRUE(is_as_leveldbs(RandomEntries(seed)())) << "seed " << seed;
}

TEST(TableWriterTest, WritesTheBytesOfLevelDbForFewEntries) {
  Entries entries;
  EXPECT_TRUE(is_as_leveldbs(entries));
  for (int i = 0; i < 50; ++i) {  // Three restarts.
    entries[fmt::format("layer/{:02}", i)] = "x";
    EXPECT_TRUE(is_as_leveldbs(entries)) << i;
  }
}

TEST(TableWriterTest, WritesTheBytesOfLevelDbForManyEntries) {
  Entries entries{{"", "header"}};
  for (int i = 0; i < 100'000; ++i)
    entries[fmt::format("layer{}/weights_{}", i % 97, i)] = std::string(i % 50, 'x');
  EXPECT_TRUE(is_as_leveldbs(entries));
}

// One entry of 3 + 1 + value bytes; the end of the block takes 8.
TEST(TableWriterTest, EndsBlocksWhereLevelDbDoes) {
  for (const size_t size : {kBlockBytes, kLargeEntryBytes})
    for (size_t value = size - 30; value <= size + 10; ++value) {
      const std::string bytes(value, 'v');
      ASSERT_TRUE(is_as_leveldbs({{"b", bytes}})) << value;
      ASSERT_TRUE(is_as_leveldbs({{"a", "1"}, {"b", bytes}, {"c", "3"}, {"d", "4"}})) << value;
      ASSERT_TRUE(is_as_leveldbs({{"a", bytes}, {"b", bytes}})) << value;
    }
}

// Each pair of keys on both sides of a block's end.
TEST(TableWriterTest, IndexKeysAreThoseOfLevelDb) {
  const std::vector<std::string> keys = {"",         "\x01",        "a",
                                         "a\xff",    "a\xff\xff",   std::string("a\xff\xff") + "b",
                                         "aa",       "ab",          "abc",
                                         "abd",      "abe",         "ac",
                                         "b",        "\x7f",        "\x80",
                                         "\xfe",     "\xfe\xff",    "\xff",
                                         "\xff\x01", "\xff\xfe",    "\xff\xfe\x01",
                                         "\xff\xff", "\xff\xff\xff"};
  const std::string block(kBlockBytes, 'v');
  for (const std::string& key : keys)
    for (const std::string& next : keys)
      EXPECT_TRUE(is_as_leveldbs({{key, block}, {next, "2"}}))
          << testing::PrintToString(key) << " " << testing::PrintToString(next);
}

TEST(TableWriterTest, WritesTheBytesOfTensorFlow) {
  const std::filesystem::path golden(CROCHET_SOURCE_DIR "/tests/golden/bundle");
  for (const char* const name : {"types", "sharded", "slices"}) {
    std::ifstream file(golden / fmt::format("{}.index", name), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    const TableEntries entries = decode_table(bytes, name);
    EXPECT_GT(entries.size(), 1u);
    EXPECT_EQ(encode_table({entries.begin(), entries.end()}), bytes) << name;
  }
}

TEST(TableWriterTest, IndexFilesOfBundlesAreThoseOfLevelDb) {
  MemoryFileSystem files;
  BundleWriter writer(files, "d/m-1");
  for (int i = 0; i < 10'000; ++i)
    writer.add(fmt::format("model/layer{}/weights{}", i % 97, i), Tensor::scalar<float>(1));
  writer.finish();
  const std::string bytes = read_file(files, index_filename("d/m-1"));
  const TableEntries entries = decode_table(bytes, "d/m-1.index");
  EXPECT_EQ(entries.size(), 10'001u);
  EXPECT_TRUE(bytes == encode_with_leveldb({entries.begin(), entries.end()}));
}

}  // namespace
}  // namespace crochet::internal
