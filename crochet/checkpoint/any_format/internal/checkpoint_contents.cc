// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/any_format/internal/checkpoint_contents.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "crochet/base/error.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {
namespace {

// Smaller tensors are read in the time it takes to map a page.
constexpr uint64_t kMinMappedBytes = uint64_t{64} << 10;

bool is_aligned(const std::byte* data, size_t alignment) {
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

Shape shape_wanted(const LocatedTensor& tensor) {
  return tensor.target ? shape_of(*tensor.target) : tensor.entry->shape;
}

bool can_be_read(DType dtype) { return dtype == DType::kString || element_size(dtype) > 0; }

struct NamedEntry {
  const StoredTensor* entry;
  std::string_view name;
};

void verify_entries(const TensorSource& data, std::vector<NamedEntry> entries) {
  for (const NamedEntry& item : entries) data.check_place(*item.entry, item.name);
  std::erase_if(entries, [](const NamedEntry& item) { return !can_be_read(item.entry->dtype); });
  std::ranges::sort(entries, [](const NamedEntry& a, const NamedEntry& b) {
    return ReadRun::is_before(*a.entry, *b.entry);
  });
  std::vector<const StoredTensor*> announced;
  for (const NamedEntry& item : entries) announced.push_back(item.entry);
  ReadRun pass(data, announced);
  for (const NamedEntry& item : entries)
    pass.take(*item.entry, [&](ReadStream& from) { data.verify(*item.entry, item.name, from); });
}

}  // namespace

CheckpointContents::CheckpointContents(const std::string& prefix, FileSystem& files)
    : prefix_(files.fixed_path(prefix)),
      opened_(open_checkpoint(files, prefix_)),
      items_(stored().named()) {}

const StoredTensors::Item* CheckpointContents::find(std::string_view name) const {
  const auto found = stored().find(name);
  return found == stored().end() || is_slice_key(name) ? nullptr : &*found;
}

const StoredTensors::Item& CheckpointContents::item(std::string_view name) const {
  if (const StoredTensors::Item* const found = find(name)) return *found;
  check_readable(name);
  throw NotFoundError(fmt::format("Key {} not found in checkpoint {}", name, prefix_));
}

void CheckpointContents::check_readable(std::string_view name) const {
  if (opened_.unreadable.empty()) return;
  const auto found = opened_.unreadable.find(name);
  if (found == opened_.unreadable.end()) return;
  const auto& [code, why] = found->second;
  throw_error(code, fmt::format("{}: \"{}\" {}", prefix_, name, why));
}

const UnreadableValues& CheckpointContents::unreadable() const {
  const std::lock_guard lock(mutex_);
  if (unreadable_) return *unreadable_;
  UnreadableValues all = opened_.unreadable;
  for (const auto& [name, entry] : items())
    if (!can_be_read(entry.dtype))
      all.emplace(name, UnreadableValue{.why = fmt::format("has the type {}, which has no elements "
                                                           "outside of TensorFlow",
                                                           entry.dtype)});
  return unreadable_.emplace(std::move(all));
}

const std::map<std::string, TensorInfo, std::less<>>& CheckpointContents::infos() const {
  const std::lock_guard lock(mutex_);
  if (infos_) return *infos_;
  std::map<std::string, TensorInfo, std::less<>> infos;
  for (const auto& [name, entry] : items())
    infos.emplace_hint(infos.end(), name,
                       TensorInfo{entry.dtype, entry.shape, entry.slices.size()});
  return infos_.emplace(std::move(infos));
}

const std::vector<StoredSlice>& CheckpointContents::slices_of(
    const StoredTensors::Item& item) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = slices_.find(&item); found != slices_.end()) return found->second;
  }
  std::vector<StoredSlice> slices = all_slices(stored(), item.first, item.second);
  const std::lock_guard lock(mutex_);
  return slices_.try_emplace(&item, std::move(slices)).first->second;
}

std::vector<StoredSlice> CheckpointContents::parts_of(const StoredTensors::Item& item,
                                                      const TensorSlice& target) const {
  try {
    std::vector<StoredSlice> parts = slices_within(slices_of(item), item.first, target);
    for (const StoredSlice& part : parts) data().check_place(*part.entry, item.first);
    return parts;
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError(fmt::format("checkpoint {}: {}", prefix_, error.what()));
  }
}

LocatedTensor CheckpointContents::locate(const StoredTensors::Item& item,
                                         const TensorSlice* slice) const {
  const auto& [name, entry] = item;
  check_readable(name);
  if (!can_be_read(entry.dtype))
    throw UnimplementedError(fmt::format("{}: \"{}\" has the type {}, which cannot be read",
                                         prefix_, name, entry.dtype));
  LocatedTensor located{name, &entry};
  if (slice == nullptr && entry.slices.empty()) {
    data().check_place(entry, name);
    return located;
  }
  located.target = slice == nullptr ? whole_slice(entry.shape) : resolved(*slice, entry.shape);
  located.parts = parts_of(item, *located.target);
  return located;
}

void CheckpointContents::read_entry(const StoredTensor& entry, std::string_view name, ReadRun& pass,
                                    std::span<std::byte> destination) const {
  pass.take(entry, [&](ReadStream& from) { data().read(entry, name, from, destination); });
}

void CheckpointContents::read_numbers(const LocatedTensor& tensor, ReadRun& pass,
                                      std::span<std::byte> destination) const {
  if (!tensor.target) return read_entry(*tensor.entry, tensor.name, pass, destination);
  for (const StoredSlice& part : tensor.parts) {
    if (part.where == *tensor.target) {
      read_entry(*part.entry, tensor.name, pass, destination);
      continue;
    }
    Tensor from(part.entry->dtype, part.entry->shape);
    read_entry(*part.entry, tensor.name, pass, from.writable_bytes());
    const size_t size = element_size(from.dtype());
    for_each_common_row(part.where, *tensor.target, [&](const CommonRow& row) {
      std::memcpy(destination.data() + static_cast<size_t>(row.offset_in_to) * size,
                  from.bytes().data() + static_cast<size_t>(row.offset_in_from) * size,
                  static_cast<size_t>(row.length) * size);
    });
  }
}

std::vector<std::string> CheckpointContents::read_strings(const LocatedTensor& tensor,
                                                          ReadRun& pass) const {
  const auto read = [&](const StoredTensor& entry) {
    return pass.take(
        entry, [&](ReadStream& stream) { return data().read_strings(entry, tensor.name, stream); });
  };
  if (!tensor.target) return read(*tensor.entry);
  std::vector<std::string> strings(static_cast<size_t>(shape_of(*tensor.target).num_elements()));
  for (const StoredSlice& part : tensor.parts) {
    std::vector<std::string> from = read(*part.entry);
    for_each_common_row(part.where, *tensor.target, [&](const CommonRow& row) {
      const auto first = from.begin() + row.offset_in_from;
      std::move(first, first + row.length, strings.begin() + row.offset_in_to);
    });
  }
  return strings;
}

Tensor CheckpointContents::read(const LocatedTensor& tensor, ReadRun& pass) const {
  const Shape shape = shape_wanted(tensor);
  try {
    if (tensor.entry->dtype == DType::kString)
      return Tensor::from(read_strings(tensor, pass), shape);
    Tensor value(tensor.entry->dtype, shape);
    read_numbers(tensor, pass, value.writable_bytes());
    return value;
  } catch (const std::bad_alloc&) {  // Its bytes exist, so this machine has too little memory.
    throw ResourceExhaustedError(
        fmt::format("{}: \"{}\" is {} {}: there is not enough memory for it", prefix_, tensor.name,
                    tensor.entry->dtype, shape));
  }
}

void CheckpointContents::read_into(const LocatedTensor& tensor, ReadRun& pass,
                                   std::span<std::byte> destination) const {
  const DType dtype = tensor.entry->dtype;
  if (dtype == DType::kString)
    throw InvalidArgumentError(fmt::format("{}: \"{}\" is {} {}: strings have no contiguous bytes",
                                           prefix_, tensor.name, dtype, shape_wanted(tensor)));
  const size_t size = Tensor::num_bytes(dtype, shape_wanted(tensor));
  if (destination.size() != size)
    throw InvalidArgumentError(fmt::format("{}: \"{}\" has {} bytes, but the destination has {}",
                                           prefix_, tensor.name, size, destination.size()));
  read_numbers(tensor, pass, destination);
}

std::optional<Tensor> CheckpointContents::map(const LocatedTensor& tensor) const {
  const StoredTensor& entry = *tensor.entry;
  const auto size = static_cast<uint64_t>(entry.size);
  if (tensor.target || entry.dtype == DType::kString || size < kMinMappedBytes) return std::nullopt;
  std::unique_ptr<MappedBytes> mapped = data().map(entry, tensor.name);
  if (!mapped || !is_aligned(mapped->bytes().data(), element_size(entry.dtype)))
    return std::nullopt;
  const std::span<const std::byte> bytes = mapped->bytes();
  Buffer buffer = Buffer::borrow(
      bytes, [](void* context) noexcept { delete static_cast<MappedBytes*>(context); },
      mapped.get());
  static_cast<void>(mapped.release());  // Now owned by the buffer.
  return Tensor::from_buffer(entry.dtype, entry.shape, std::move(buffer));
}

void CheckpointContents::verify() const {
  if (!data().verify_all()) {
    std::vector<NamedEntry> entries;
    for (const auto& [name, entry] : stored())
      if (entry.slices.empty() && !opened_.aliases.contains(name))
        entries.push_back({&entry, name});
    verify_entries(data(), std::move(entries));
  }
  for (const auto& [name, value] : opened_.unreadable)
    if (value.code != Code::kUnimplemented) check_readable(name);
}

void CheckpointContents::verify(std::string_view key) const {
  const StoredTensors::Item& found = item(key);
  std::vector<NamedEntry> entries;
  for (const StoredSlice& stored : slices_of(found)) entries.push_back({stored.entry, found.first});
  verify_entries(data(), std::move(entries));
}

}  // namespace crochet::inline v0::internal
