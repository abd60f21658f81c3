// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/table_writer.h"

#include <fmt/format.h>
#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

// TensorFlow's sizes: tensorflow/core/lib/io/table_options.h, table_builder.cc.
constexpr size_t kBlockBytes = 262144;
constexpr int kRestartInterval = 16;
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

  std::string take() { return std::move(content_); }

 private:
  std::string content_;
};

leveldb::Options table_options() {
  leveldb::Options options;
  options.compression = leveldb::kNoCompression;
  options.block_size = kBlockBytes;
  options.block_restart_interval = kRestartInterval;
  return options;
}

}  // namespace

std::string encode_table(const std::map<std::string, std::string>& entries) {
  StringFile file;
  leveldb::TableBuilder builder(table_options(), &file);
  for (const auto& [key, value] : entries) {
    if (key.size() + value.size() >= kLargeEntryBytes) builder.Flush();
    builder.Add(key, value);
  }
  const leveldb::Status status = builder.Finish();
  if (!status.ok()) throw InternalError(fmt::format("encoding a table: {}", status.ToString()));
  return file.take();
}

}  // namespace crochet::inline v0::internal
