// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/torch/internal/torch_data.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <mutex>
#include <numeric>
#include <utility>

#include "crochet/checkpoint/torch/internal/torch_view.h"
#include "crochet/io/internal/crc32.h"

namespace crochet::inline v0::internal {
namespace {

// Size of one read: still in the cache when the checksum is computed.
constexpr uint64_t kReadBytes = uint64_t{1} << 20;

uint32_t read_with_crc32(ReadStream& from, std::span<std::byte> destination) {
  uint32_t crc = 0;
  while (!destination.empty()) {
    const auto chunk = destination.first(std::min<uint64_t>(kReadBytes, destination.size()));
    from.read(chunk);
    crc = extend_crc32(crc, chunk);
    destination = destination.subspan(chunk.size());
  }
  return crc;
}

uint32_t skip_with_crc32(ReadStream& from, uint64_t size) {
  std::vector<std::byte> buffer(std::min(kReadBytes, size));
  uint32_t crc = 0;
  for (; size > 0; size -= buffer.size()) {
    buffer.resize(std::min<uint64_t>(buffer.size(), size));
    from.read(buffer);
    crc = extend_crc32(crc, buffer);
  }
  return crc;
}

// Reading a run of elements alone takes about as long as reading this many bytes in a row.
constexpr uint64_t kRunCostBytes = 4096;

// A view in a file.
struct FileView {
  const ReadableFile& file;
  uint64_t offset;  // Of the view's first element.
};

// Reads a view in row-major order: each run of adjacent elements alone, or all bytes from the first
// to the last element at once, whichever is less work. So reading takes time in proportion to the
// elements, however far apart they are in the file.
void gather(const FileView& from, std::span<const int64_t> sizes, const TorchLayout& layout,
            std::span<std::byte> to) {
  ViewRuns runs(sizes, layout.strides);
  const size_t run_bytes = static_cast<size_t>(runs.run_length()) * layout.element_size;
  const uint64_t span =
      *end_of({.sizes = {sizes.begin(), sizes.end()}, .strides = layout.strides}) *
      layout.element_size;
  std::vector<std::byte> all(span / kRunCostBytes <= to.size() / run_bytes ? span : 0);
  if (!all.empty()) from.file.read_at(from.offset, all);
  for (size_t at = 0; at < to.size(); at += run_bytes, runs.next()) {
    const uint64_t offset = static_cast<uint64_t>(runs.offset()) * layout.element_size;
    if (all.empty())
      from.file.read_at(from.offset + offset, to.subspan(at, run_bytes));
    else
      std::memcpy(to.data() + at, all.data() + offset, run_bytes);
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
      verify_storage(storage_of(layout), layout.storage);
      const auto file = open_file(0);
      gather({*file, storage_of(layout).entry.offset + layout.offset}, entry.shape.dimensions(),
             layout, destination);
    }
  }

  std::vector<std::string> read_strings(const StoredTensor&, std::string_view name,
                                        ReadStream&) const override {
    return layout_of(name).strings;
  }

  void verify(const StoredTensor& entry, std::string_view name, ReadStream& from) const override {
    const TorchLayout& layout = layout_of(name);
    if (layout.storage == TorchLayout::kNoStorage || !storage_of(layout).entry.is_plain) return;
    const auto size = static_cast<uint64_t>(entry.size);
    if (!is_whole(entry, layout)) verify_storage(storage_of(layout), layout.storage);
    if (is_verified(layout.storage)) return from.skip(size);
    check(skip_with_crc32(from, size), storage_of(layout), layout.storage);
  }

  // Tensors share storages, and some belong to no tensor.
  bool verify_all() const override {
    std::vector<size_t> in_file(storages_.size());
    std::iota(in_file.begin(), in_file.end(), size_t{0});
    std::ranges::sort(in_file, {}, [&](size_t i) { return storages_[i].entry.offset; });
    for (const size_t i : in_file) verify_storage(storages_[i], static_cast<int32_t>(i));
    return true;
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
    const TorchStorage& storage = storage_of(layout);
    if (is_whole(entry, layout))
      return check(read_with_crc32(from, destination), storage, layout.storage);
    verify_storage(storage, layout.storage);
    from.read(destination);
  }

  bool is_verified(int32_t number) const {
    const std::lock_guard lock(mutex_);
    return is_verified_[static_cast<size_t>(number)];
  }

  void verify_storage(const TorchStorage& storage, int32_t number) const {
    if (!storage.entry.is_plain || !has_crc32(storage.entry) || is_verified(number)) return;
    const auto from = stream(0, storage.entry.offset, storage.entry.size);
    check(skip_with_crc32(*from, storage.entry.size), storage, number);
  }

  // Compares the checksum of a storage, and remembers that it was right.
  void check(uint32_t crc, const TorchStorage& storage, int32_t number) const {
    check_crc32(crc, path_, storage.name, storage.entry);
    const std::lock_guard lock(mutex_);
    is_verified_[static_cast<size_t>(number)] = true;
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
