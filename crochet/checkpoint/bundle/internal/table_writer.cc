// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/internal/table_writer.h"

#include <algorithm>
#include <utility>

#include "crochet/checkpoint/bundle/internal/coding.h"
#include "crochet/checkpoint/bundle/internal/table_format.h"
#include "crochet/io/internal/crc32c.h"

namespace crochet::inline v0::internal {
namespace {

// TensorFlow's sizes: a data block ends once it has kBlockBytes, and before an entry of
// kLargeEntryBytes.
constexpr size_t kBlockBytes = 262144;
constexpr size_t kLargeEntryBytes = 2 * kBlockBytes;

size_t num_shared(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

unsigned char byte_at(std::string_view key, size_t at) {
  return static_cast<unsigned char>(key[at]);
}

// The first `at` bytes of `key`, then the next byte plus one.
std::string raised(std::string_view key, size_t at) {
  std::string result(key.substr(0, at + 1));
  ++result.back();
  return result;
}

// A key that is not less than `key` and less than `next`: short, if raising the first byte that
// differs gives one.
std::string key_between(std::string_view key, std::string_view next) {
  const size_t at = num_shared(key, next);
  if (at == key.size() || byte_at(key, at) + 1 >= byte_at(next, at)) return std::string(key);
  return raised(key, at);
}

// A short key that is not less than `key`.
std::string key_after(std::string_view key) {
  const size_t at = std::min(key.find_first_not_of('\xff'), key.size());
  return at == key.size() ? std::string(key) : raised(key, at);
}

}  // namespace

void TableWriter::Block::add(std::string_view key, std::string_view value) {
  size_t shared = 0;
  if (num_entries_++ % restart_interval_ == 0)
    restarts_.push_back(static_cast<uint32_t>(entries_.size()));
  else
    shared = num_shared(last_key_, key);
  put_varint64(entries_, shared);
  put_varint64(entries_, key.size() - shared);
  put_varint64(entries_, value.size());
  entries_.append(key.substr(shared)).append(value);
  last_key_.assign(key);
}

std::string TableWriter::Block::move_to(std::string& table) {
  if (empty()) restarts_.push_back(0);  // Readers expect one.
  std::string handle;
  put_varint64(handle, table.size());
  put_varint64(handle, num_bytes());
  const size_t begin = table.size();
  table += entries_;
  for (const uint32_t restart : restarts_) put_fixed32(table, restart);
  put_fixed32(table, static_cast<uint32_t>(restarts_.size()));
  table += kTablePlainBlock;
  put_fixed32(table, mask_crc32c(crc32c(std::string_view(table).substr(begin))));
  entries_.clear();
  restarts_.clear();
  num_entries_ = 0;
  return handle;
}

void TableWriter::add(std::string_view key, std::string_view value) {
  const bool is_full = data_.num_bytes() >= kBlockBytes;
  if (!data_.empty() && (is_full || key.size() + value.size() >= kLargeEntryBytes))
    index_.add(key_between(data_.last_key(), key), data_.move_to(table_));
  data_.add(key, value);
}

std::string TableWriter::finish() {
  if (!data_.empty()) index_.add(key_after(data_.last_key()), data_.move_to(table_));
  Block metaindex(kRestartInterval);
  std::string footer = metaindex.move_to(table_);
  footer += index_.move_to(table_);
  footer.resize(kTableFooterBytes - 2 * sizeof(uint32_t));
  put_fixed32(footer, kTableMagicLow);
  put_fixed32(footer, kTableMagicHigh);
  return std::move(table_ += footer);
}

}  // namespace crochet::inline v0::internal
