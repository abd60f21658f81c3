// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/internal/table_reader.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle/internal/coding.h"
#include "crochet/checkpoint/bundle/internal/table_format.h"
#include "crochet/io/internal/crc32c.h"

namespace crochet::inline v0::internal {
namespace {

constexpr size_t kTrailerBytes = 5;  // Type and checksum.

// With a restart every 16 entries, the keys of a block have at most 16 times
// its bytes; twice that for writers with other intervals.
constexpr size_t kMaxKeyRatio = 32;

struct BlockHandle {
  uint64_t offset;
  uint64_t size;
};

struct Footer {
  BlockHandle metaindex;
  BlockHandle index;
};

class TableDecoder {
 public:
  TableDecoder(std::string_view bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  template <typename Use>
  void decode(const Use& use) {
    const Footer footer = read_footer();
    visit_entries(footer.metaindex, [](std::string_view, std::string_view) {});
    std::optional<std::string> last;
    visit_entries(footer.index, [&](std::string_view, std::string_view value) {
      const BlockHandle data = take_handle(value, "index block", footer.index.offset);
      visit_entries(data, [&](const std::string& key, std::string_view content) {
        if (last && key <= *last)
          throw DataLossError(fmt::format("{}: the keys of the block at offset {} do not increase",
                                          file_, data.offset));
        last = key;
        use(key, content);
      });
    });
  }

 private:
  Footer read_footer() const {
    if (bytes_.size() < kTableFooterBytes)
      throw DataLossError(fmt::format("{}: found {} bytes, expected at least {}", file_,
                                      bytes_.size(), kTableFooterBytes));
    const size_t offset = bytes_.size() - kTableFooterBytes;
    std::string_view magic = bytes_.substr(bytes_.size() - 8);
    const uint32_t low = *take_fixed32(magic);
    const uint32_t high = *take_fixed32(magic);
    if (low != kTableMagicLow || high != kTableMagicHigh)
      throw DataLossError(fmt::format(
          "{}: the magic number at offset {}: found {:08x}{:08x}, expected {:08x}{:08x}", file_,
          bytes_.size() - 8, high, low, kTableMagicHigh, kTableMagicLow));
    std::string_view handles = bytes_.substr(offset, kTableFooterBytes - 8);
    const BlockHandle metaindex = take_handle(handles, "footer", offset);
    const BlockHandle index = take_handle(handles, "footer", offset);
    return {metaindex, index};
  }

  BlockHandle take_handle(std::string_view& from, std::string_view where, uint64_t at) const {
    const auto offset = take_varint64(from);
    const auto size = offset ? take_varint64(from) : std::nullopt;
    if (!size)
      throw DataLossError(
          fmt::format("{}: the {} at offset {} has an incomplete block handle", file_, where, at));
    const uint64_t limit = bytes_.size() - kTableFooterBytes;
    if (*offset > limit || *size > limit - *offset || limit - *offset - *size < kTrailerBytes)
      throw DataLossError(fmt::format(
          "{}: the {} at offset {} refers to {} bytes at offset {}, but the blocks end at {}",
          file_, where, at, *size, *offset, limit));
    return {*offset, *size};
  }

  // The content of a block.
  std::string_view read_block(const BlockHandle& block) {
    // Otherwise, overlapping blocks in a small file could fill the memory.
    total_block_bytes_ += block.size + kTrailerBytes;
    if (total_block_bytes_ > bytes_.size())
      throw DataLossError(
          fmt::format("{}: the block at offset {} overlaps another", file_, block.offset));
    const std::string_view content = bytes_.substr(block.offset, block.size);
    std::string_view trailer = bytes_.substr(block.offset + block.size, kTrailerBytes);
    const uint32_t found = crc32c(bytes_.substr(block.offset, block.size + 1));
    const char type = trailer.front();
    trailer.remove_prefix(1);
    const uint32_t expected = unmask_crc32c(*take_fixed32(trailer));
    if (found != expected)
      throw DataLossError(
          fmt::format("{}: crc32c of the block at offset {}: found {:08x}, expected {:08x}", file_,
                      block.offset, found, expected));
    if (type == kTableSnappyBlock)
      throw UnimplementedError(fmt::format(
          "{}: the block at offset {} is compressed: found type {} (Snappy), expected {}, as in "
          "every release of TensorFlow: have its program write it again without compression",
          file_, block.offset, int{type}, int{kTablePlainBlock}));
    if (type != kTablePlainBlock)
      throw DataLossError(fmt::format("{}: the block at offset {} has type {}, expected {}", file_,
                                      block.offset, static_cast<unsigned char>(type),
                                      int{kTablePlainBlock}));
    return content;
  }

  // The content without its restart points, which are only needed for searches.
  std::string_view without_restarts(std::string_view content, uint64_t offset) const {
    std::string_view tail = content.substr(content.size() - std::min<size_t>(content.size(), 4));
    const auto num_restarts = take_fixed32(tail);
    if (!num_restarts || *num_restarts > content.size() / 4 - 1)
      throw DataLossError(
          fmt::format("{}: the block at offset {} has {} bytes and claims {} restart points", file_,
                      offset, content.size(), num_restarts.value_or(0)));
    return content.substr(0, content.size() - 4 * (size_t{*num_restarts} + 1));
  }

  template <typename Visit>
  void visit_entries(const BlockHandle& block, Visit visit) {
    const std::string_view content = read_block(block);
    std::string_view rest = without_restarts(content, block.offset);
    std::string key;
    size_t key_bytes = 0;
    while (!rest.empty()) {
      const auto at = static_cast<size_t>(rest.data() - content.data());
      const auto shared = take_varint32(rest);
      const auto unshared = shared ? take_varint32(rest) : std::nullopt;
      const auto value_bytes = unshared ? take_varint32(rest) : std::nullopt;
      if (!value_bytes || *shared > key.size() || uint64_t{*unshared} + *value_bytes > rest.size())
        throw DataLossError(
            fmt::format("{}: the entry at byte {} of the block at offset {} is malformed", file_,
                        at, block.offset));
      key.resize(*shared);
      key.append(rest.substr(0, *unshared));
      key_bytes += key.size();
      if (key_bytes > kMaxKeyRatio * content.size())
        throw DataLossError(
            fmt::format("{}: the block at offset {} has {} bytes and keys of more than {}", file_,
                        block.offset, content.size(), key_bytes));
      visit(key, rest.substr(*unshared, *value_bytes));
      rest.remove_prefix(size_t{*unshared} + *value_bytes);
    }
  }

  const std::string_view bytes_;
  const std::string_view file_;
  uint64_t total_block_bytes_ = 0;
};

}  // namespace

void read_table(std::string_view bytes, std::string_view file,
                const std::function<void(const std::string& key, std::string_view value)>& use) {
  TableDecoder(bytes, file).decode(use);
}

}  // namespace crochet::inline v0::internal
