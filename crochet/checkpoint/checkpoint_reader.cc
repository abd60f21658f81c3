// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/checkpoint_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle_slices.h"
#include "crochet/checkpoint/open_checkpoint.h"

namespace crochet {
namespace {

// TensorFlow's name of a type in its messages: "DT_FLOAT".
std::string data_type_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return "DT_FLOAT";
    case DType::kDouble:
      return "DT_DOUBLE";
    case DType::kHalf:
      return "DT_HALF";
    default: {
      std::string name = fmt::format("DT_{}", dtype);
      std::ranges::transform(name, name.begin(), [](char c) {
        return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      });
      return name;
    }
  }
}

}  // namespace

using internal::BundleEntry;
using internal::CommonRow;
using internal::StoredSlice;

struct CheckpointReader::State {
  State(std::string prefix_in, FileSystem& files)
      : prefix(std::move(prefix_in)), opened(internal::open_checkpoint(files, prefix)) {
    for (const auto& [name, entry] : index.entries)
      if (name.front() != '\0')
        tensors.emplace(name, TensorInfo{entry.dtype, entry.shape, entry.slices.size()});
  }

  const BundleEntry& entry(std::string_view name) const {
    const auto found = index.entries.find(name);
    if (found == index.entries.end() || !tensors.contains(name))
      throw NotFoundError("Key {} not found in checkpoint {}", name, prefix);
    return found->second;
  }

  const BundleEntry& readable_entry(std::string_view name) const {
    const BundleEntry& found = entry(name);
    if (found.dtype != DType::kString && element_size(found.dtype) == 0)
      throw UnimplementedError("{}: \"{}\" has the type {}; such cannot be read", prefix, name,
                               found.dtype);
    return found;
  }

  // The stored parts of a slice, their places checked, so that memory may be taken for them.
  std::vector<StoredSlice> parts_of(std::string_view name, const BundleEntry& entry,
                                    const TensorSlice& target) const;
  void read_numbers(std::string_view name, const std::vector<StoredSlice>& parts,
                    const TensorSlice& target, std::span<std::byte> destination) const;
  std::vector<std::string> read_strings(std::string_view name,
                                        const std::vector<StoredSlice>& parts,
                                        const TensorSlice& target) const;
  Tensor read(std::string_view name, const BundleEntry& entry, const TensorSlice& target) const;
  void read_into(std::string_view name, const BundleEntry& entry, const TensorSlice& target,
                 std::span<std::byte> destination) const;

  const std::string prefix;
  const internal::OpenCheckpoint opened;
  const internal::BundleIndex& index = opened.index;
  const internal::StoredData& data = *opened.data;
  std::map<std::string, TensorInfo, std::less<>> tensors;  // Without the slices.
};

CheckpointReader::CheckpointReader(std::string prefix, FileSystem& files)
    : state_(std::make_unique<State>(std::move(prefix), files)) {}
CheckpointReader::~CheckpointReader() = default;
CheckpointReader::CheckpointReader(CheckpointReader&&) noexcept = default;
CheckpointReader& CheckpointReader::operator=(CheckpointReader&&) noexcept = default;

const std::string& CheckpointReader::prefix() const { return state_->prefix; }

const std::map<std::string, TensorInfo, std::less<>>& CheckpointReader::tensors() const {
  return state_->tensors;
}

CheckpointFormat CheckpointReader::format() const { return state_->opened.format; }

bool CheckpointReader::has_checksums() const { return state_->opened.has_checksums; }

const std::map<std::string, std::string, std::less<>>& CheckpointReader::metadata() const {
  return state_->opened.metadata;
}

std::vector<StoredSlice> CheckpointReader::State::parts_of(std::string_view name,
                                                           const BundleEntry& entry,
                                                           const TensorSlice& target) const {
  try {
    std::vector<StoredSlice> parts = internal::stored_slices(index, name, entry, target);
    for (const StoredSlice& part : parts) data.check_place(*part.entry, name);
    return parts;
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError("checkpoint {}: {}", prefix, error.what());
  }
}

void CheckpointReader::State::read_numbers(std::string_view name,
                                           const std::vector<StoredSlice>& parts,
                                           const TensorSlice& target,
                                           std::span<std::byte> destination) const {
  for (const StoredSlice& part : parts) {
    if (part.where == target) {
      data.read(*part.entry, name, destination);
      continue;
    }
    Tensor from(part.entry->dtype, part.entry->shape);
    data.read(*part.entry, name, from.mutable_bytes());
    const size_t size = element_size(from.dtype());
    internal::for_each_common_row(part.where, target, [&](const CommonRow& row) {
      std::memcpy(destination.data() + static_cast<size_t>(row.offset_in_to) * size,
                  from.bytes().data() + static_cast<size_t>(row.offset_in_from) * size,
                  static_cast<size_t>(row.length) * size);
    });
  }
}

std::vector<std::string> CheckpointReader::State::read_strings(
    std::string_view name, const std::vector<StoredSlice>& parts, const TensorSlice& target) const {
  std::vector<std::string> strings(static_cast<size_t>(internal::shape_of(target).num_elements()));
  for (const StoredSlice& part : parts) {
    std::vector<std::string> from = data.read_strings(*part.entry, name);
    internal::for_each_common_row(part.where, target, [&](const CommonRow& row) {
      const auto first = from.begin() + row.offset_in_from;
      std::move(first, first + row.length, strings.begin() + row.offset_in_to);
    });
  }
  return strings;
}

Tensor CheckpointReader::State::read(std::string_view name, const BundleEntry& entry,
                                     const TensorSlice& target) const {
  const std::vector<StoredSlice> parts = parts_of(name, entry, target);
  const Shape shape = internal::shape_of(target);
  if (entry.dtype == DType::kString) return Tensor::from(read_strings(name, parts, target), shape);
  Tensor tensor(entry.dtype, shape);
  read_numbers(name, parts, target, tensor.mutable_bytes());
  return tensor;
}

Tensor CheckpointReader::read(std::string_view name) const {
  const BundleEntry& entry = state_->readable_entry(name);
  return state_->read(name, entry, internal::whole_slice(entry.shape));
}

Tensor CheckpointReader::read_slice(std::string_view name, const TensorSlice& slice) const {
  const BundleEntry& entry = state_->readable_entry(name);
  return state_->read(name, entry, internal::resolved(slice, entry.shape));
}

const std::vector<TensorSlice>& CheckpointReader::slices(std::string_view name) const {
  return state_->entry(name).slices;
}

void CheckpointReader::State::read_into(std::string_view name, const BundleEntry& entry,
                                        const TensorSlice& target,
                                        std::span<std::byte> destination) const {
  if (entry.dtype == DType::kString)
    throw InvalidArgumentError("{}: \"{}\" is {} {}: strings are no bytes in one piece", prefix,
                               name, entry.dtype, entry.shape);
  const std::vector<StoredSlice> parts = parts_of(name, entry, target);
  const uint64_t size =
      static_cast<uint64_t>(internal::shape_of(target).num_elements()) * element_size(entry.dtype);
  if (destination.size() != size)
    throw InvalidArgumentError("{}: \"{}\" has {} bytes, the destination {}", prefix, name, size,
                               destination.size());
  read_numbers(name, parts, target, destination);
}

void CheckpointReader::read_into(std::string_view name, std::span<std::byte> destination) const {
  const BundleEntry& entry = state_->readable_entry(name);
  state_->read_into(name, entry, internal::whole_slice(entry.shape), destination);
}

void CheckpointReader::read_slice_into(std::string_view name, const TensorSlice& slice,
                                       std::span<std::byte> destination) const {
  const BundleEntry& entry = state_->readable_entry(name);
  state_->read_into(name, entry, internal::resolved(slice, entry.shape), destination);
}

std::string CheckpointReader::debug_string() const {
  std::string text;
  for (const auto& [name, info] : tensors())
    text += fmt::format("{} ({}) {}\n", name, data_type_name(info.dtype), info.shape);
  return text;
}

void CheckpointReader::verify() const {
  for (const auto& [name, entry] : state_->index.entries)
    if (entry.slices.empty()) state_->data.verify(entry, name);
}

}  // namespace crochet
