// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/torch/torch_data.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <mutex>
#include <utility>

#include "crochet/io/crc32.h"

namespace crochet::inline v0::internal {
namespace {

// Size of one read: still in the cache when the checksum is computed.
constexpr uint64_t kChunkBytes = uint64_t{1} << 20;

uint32_t read_with_crc32(ReadStream& from, std::span<std::byte> destination) {
  uint32_t crc = 0;
  while (!destination.empty()) {
    const auto chunk = destination.first(std::min<uint64_t>(kChunkBytes, destination.size()));
    from.read(chunk);
    crc = extend_crc32(crc, chunk);
    destination = destination.subspan(chunk.size());
  }
  return crc;
}

uint32_t skip_with_crc32(ReadStream& from, uint64_t size) {
  std::vector<std::byte> buffer(std::min(kChunkBytes, size));
  uint32_t crc = 0;
  for (; size > 0; size -= buffer.size()) {
    buffer.resize(std::min<uint64_t>(buffer.size(), size));
    from.read(buffer);
    crc = extend_crc32(crc, buffer);
  }
  return crc;
}

// Copies elements of a view, in row-major order. Requires: the view is within `from`.
void gather(std::span<const std::byte> from, std::span<const int64_t> sizes,
            std::span<const int64_t> strides, size_t element_size, std::span<std::byte> to) {
  // The last dimensions whose elements are adjacent are copied as one.
  size_t num_outer = sizes.size();
  int64_t run = 1;
  while (num_outer > 0 && (sizes[num_outer - 1] == 1 || strides[num_outer - 1] == run))
    run *= sizes[--num_outer];
  const size_t run_bytes = static_cast<size_t>(run) * element_size;
  std::vector<int64_t> indices(num_outer, 0);
  int64_t offset = 0;
  for (std::byte* next = to.data(); next < to.data() + to.size(); next += run_bytes) {
    std::memcpy(next, from.data() + static_cast<size_t>(offset) * element_size, run_bytes);
    for (size_t i = num_outer; i-- > 0;) {
      offset += strides[i];
      if (++indices[i] < sizes[i]) break;
      offset -= indices[i] * strides[i];
      indices[i] = 0;
    }
  }
}

class TorchData final : public TensorSource {
 public:
  explicit TorchData(TorchIndex index)
      : TensorSource(std::move(index.open), "directory"),
        path_(std::move(index.path)),
        layouts_(std::move(index.layouts)),
        storages_(std::move(index.storages)),
        is_verified_(storages_.size(), false) {}

  std::unique_ptr<MappedBytes> map(const StoredTensor& entry,
                                   std::string_view name) const override {
    const TorchLayout& layout = layout_of(name);
    const bool is_direct = layout.storage != TorchLayout::kNoStorage && layout.strides.empty();
    return is_direct ? TensorSource::map(entry, name) : nullptr;
  }

  void read(const StoredTensor& entry, std::string_view name, ReadStream& from,
            std::span<std::byte> destination) const override {
    const TorchLayout& layout = layout_of(name);
    if (layout.storage == TorchLayout::kNoStorage) {
      std::ranges::copy(layout.numbers, destination.begin());
    } else if (layout.strides.empty()) {
      read_stored(entry, layout, from, destination);
    } else {
      std::vector<std::byte> stored(static_cast<size_t>(entry.size));
      read_stored(entry, layout, from, stored);
      gather(stored, entry.shape.dimensions(), layout.strides, layout.element_size, destination);
    }
  }

  std::vector<std::string> read_strings(const StoredTensor&, std::string_view name,
                                        ReadStream&) const override {
    return layout_of(name).strings;
  }

  void verify(const StoredTensor& entry, std::string_view name, ReadStream& from) const override {
    const TorchLayout& layout = layout_of(name);
    if (layout.storage == TorchLayout::kNoStorage) return;
    const auto size = static_cast<uint64_t>(entry.size);
    if (size == 0) return;
    if (!is_whole(entry, layout)) verify_storage(layout);
    if (is_verified(layout)) return from.skip(size);
    check(skip_with_crc32(from, size), layout);
  }

 private:
  std::string path_of(int) const override { return path_; }
  bool has_room_for(uint64_t, uint64_t) const override { return true; }

  const TorchLayout& layout_of(std::string_view name) const {
    const auto found = layouts_.find(name);
    assert(found != layouts_.end());
    return found->second;
  }
  const TorchStorage& storage_of(const TorchLayout& layout) const {
    return storages_[static_cast<size_t>(layout.storage)];
  }

  // True if the bytes of the entry are those of its storage.
  bool is_whole(const StoredTensor& entry, const TorchLayout& layout) const {
    const ZipEntry& stored = storage_of(layout).entry;
    return static_cast<uint64_t>(entry.offset) == stored.offset &&
           static_cast<uint64_t>(entry.size) == stored.size;
  }

  void read_stored(const StoredTensor& entry, const TorchLayout& layout, ReadStream& from,
                   std::span<std::byte> destination) const {
    if (destination.empty()) return;
    if (is_whole(entry, layout)) return check(read_with_crc32(from, destination), layout);
    verify_storage(layout);
    from.read(destination);
  }

  bool is_verified(const TorchLayout& layout) const {
    const std::lock_guard lock(mutex_);
    return is_verified_[static_cast<size_t>(layout.storage)];
  }

  void verify_storage(const TorchLayout& layout) const {
    const TorchStorage& storage = storage_of(layout);
    if (!has_crc32(storage.entry) || is_verified(layout)) return;
    const auto from = stream(0, storage.entry.offset, storage.entry.size);
    check(skip_with_crc32(*from, storage.entry.size), layout);
  }

  // Compares the checksum of a storage, and remembers that it was right.
  void check(uint32_t crc, const TorchLayout& layout) const {
    const TorchStorage& storage = storage_of(layout);
    check_crc32(crc, path_, storage.name, storage.entry);
    const std::lock_guard lock(mutex_);
    is_verified_[static_cast<size_t>(layout.storage)] = true;
  }

  const std::string path_;
  const std::map<std::string, TorchLayout, std::less<>> layouts_;
  const std::vector<TorchStorage> storages_;

  mutable std::mutex mutex_;               // Guards what follows.
  mutable std::vector<bool> is_verified_;  // By storage.
};

}  // namespace

std::unique_ptr<TensorSource> torch_data(TorchIndex index) {
  return std::make_unique<TorchData>(std::move(index));
}

}  // namespace crochet::inline v0::internal
