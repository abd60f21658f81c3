// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle_contents.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle_format.h"
#include "crochet/checkpoint/checkpoint_filename.h"
#include "crochet/io/path.h"

namespace crochet::internal {
namespace {

BundleIndex open_index(FileSystem& files, const std::string& prefix) {
  const std::string path = index_filename(prefix);
  if (!files.exists(path) && files.exists(prefix) && !is_directory(files, prefix)) {
    const std::string name = base_name(prefix);
    if (const auto part = parse_checkpoint_filename(name))
      throw NotFoundError("{} is one file of a checkpoint, which is called {}", prefix,
                          join_path(directory_of(prefix), part->base));
    throw UnimplementedError(
        "{} is a file and there is no {}: TensorFlow's V1 format is not supported; let TensorFlow "
        "write the checkpoint anew",
        prefix, path);
  }
  return read_bundle_index(files, path);
}

}  // namespace

BundleContents::BundleContents(std::string prefix, FileSystem& files)
    : prefix_(std::move(prefix)),
      index_(open_index(files, prefix_)),
      data_(files, prefix_, index_.header) {
  for (const auto& [name, entry] : index_.entries)
    if (name.front() != '\0')
      tensors_.emplace_hint(tensors_.end(), name,
                            TensorInfo{entry.dtype, entry.shape, entry.slices.size()});
}

const BundleEntry& BundleContents::entry(std::string_view name) const {
  const auto found = index_.entries.find(name);
  if (found == index_.entries.end() || name.starts_with('\0'))
    throw NotFoundError("Key {} not found in checkpoint {}", name, prefix_);
  return found->second;
}

std::vector<StoredSlice> BundleContents::parts_of(std::string_view name, const BundleEntry& entry,
                                                  const TensorSlice& target) const {
  try {
    std::vector<StoredSlice> parts = stored_slices(index_, name, entry, target);
    for (const StoredSlice& part : parts) data_.check_place(*part.entry, name);
    return parts;
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError("checkpoint {}: {}", prefix_, error.what());
  }
}

LocatedTensor BundleContents::locate(std::string_view name, const TensorSlice* slice) const {
  const BundleEntry& found = entry(name);
  if (found.dtype != DType::kString && element_size(found.dtype) == 0)
    throw UnimplementedError("{}: \"{}\" has the type {}; such cannot be read", prefix_, name,
                             found.dtype);
  TensorSlice target = slice == nullptr ? whole_slice(found.shape) : resolved(*slice, found.shape);
  std::vector<StoredSlice> parts = parts_of(name, found, target);
  return {std::string(name), found.dtype, std::move(target), std::move(parts)};
}

void BundleContents::read_numbers(const LocatedTensor& tensor, BundlePass& pass,
                                  std::span<std::byte> destination) const {
  const auto read_part = [&](const BundleEntry& entry, std::span<std::byte> to) {
    pass.take(entry, [&](ReadStream& from) { data_.read(entry, tensor.name, from, to); });
  };
  for (const StoredSlice& part : tensor.parts) {
    if (part.where == tensor.target) {
      read_part(*part.entry, destination);
      continue;
    }
    Tensor from(part.entry->dtype, part.entry->shape);
    read_part(*part.entry, from.mutable_bytes());
    const size_t size = element_size(from.dtype());
    for_each_common_row(part.where, tensor.target, [&](const CommonRow& row) {
      std::memcpy(destination.data() + static_cast<size_t>(row.offset_in_to) * size,
                  from.bytes().data() + static_cast<size_t>(row.offset_in_from) * size,
                  static_cast<size_t>(row.length) * size);
    });
  }
}

std::vector<std::string> BundleContents::read_strings(const LocatedTensor& tensor,
                                                      BundlePass& pass) const {
  std::vector<std::string> strings(static_cast<size_t>(shape_of(tensor.target).num_elements()));
  for (const StoredSlice& part : tensor.parts) {
    std::vector<std::string> from = pass.take(*part.entry, [&](ReadStream& stream) {
      return data_.read_strings(*part.entry, tensor.name, stream);
    });
    for_each_common_row(part.where, tensor.target, [&](const CommonRow& row) {
      const auto first = from.begin() + row.offset_in_from;
      std::move(first, first + row.length, strings.begin() + row.offset_in_to);
    });
  }
  return strings;
}

Tensor BundleContents::read(const LocatedTensor& tensor, BundlePass& pass) const {
  const Shape shape = shape_of(tensor.target);
  if (tensor.dtype == DType::kString) return Tensor::from(read_strings(tensor, pass), shape);
  Tensor value(tensor.dtype, shape);
  read_numbers(tensor, pass, value.mutable_bytes());
  return value;
}

void BundleContents::read_into(const LocatedTensor& tensor, BundlePass& pass,
                               std::span<std::byte> destination) const {
  const Shape shape = shape_of(tensor.target);
  if (tensor.dtype == DType::kString)
    throw InvalidArgumentError("{}: \"{}\" is {} {}: strings are no bytes in one piece", prefix_,
                               tensor.name, tensor.dtype, shape);
  const uint64_t size = static_cast<uint64_t>(shape.num_elements()) * element_size(tensor.dtype);
  if (destination.size() != size)
    throw InvalidArgumentError("{}: \"{}\" has {} bytes, the destination {}", prefix_, tensor.name,
                               size, destination.size());
  read_numbers(tensor, pass, destination);
}

void BundleContents::verify() const {
  using Item = std::pair<const BundleEntry*, std::string_view>;
  std::vector<Item> items;
  for (const auto& [name, entry] : index_.entries) {
    if (!entry.slices.empty()) continue;
    data_.check_place(entry, name);
    if (entry.dtype == DType::kString || element_size(entry.dtype) > 0)
      items.emplace_back(&entry, name);
  }
  std::ranges::sort(items, [](const Item& a, const Item& b) {
    return BundlePass::is_before(*a.first, *b.first);
  });
  std::vector<const BundleEntry*> entries;
  for (const Item& item : items) entries.push_back(item.first);
  BundlePass pass(data_, entries);
  for (const Item& item : items)
    pass.take(*item.first, [&](ReadStream& from) { data_.verify(*item.first, item.second, from); });
}

}  // namespace crochet::internal
