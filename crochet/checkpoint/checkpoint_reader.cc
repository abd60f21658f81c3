// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/checkpoint_reader.h"

#include <utility>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle_data.h"
#include "crochet/checkpoint/bundle_format.h"
#include "crochet/checkpoint/bundle_index.h"

namespace crochet {

using internal::BundleEntry;

struct CheckpointReader::State {
  State(std::string prefix_in, FileSystem& files)
      : prefix(std::move(prefix_in)),
        index(internal::read_bundle_index(files, index_filename(prefix))),
        data(files, prefix, index.header) {
    for (const auto& [name, entry] : index.entries)
      if (name.front() != '\0')
        tensors.emplace(name, TensorInfo{entry.dtype, entry.shape, entry.slices.size()});
  }

  const BundleEntry& readable_entry(std::string_view name) const {
    const auto found = index.entries.find(name);
    if (found == index.entries.end() || !tensors.contains(name))
      throw NotFoundError("Key {} not found in checkpoint {}", name, prefix);
    const BundleEntry& entry = found->second;
    if (!entry.slices.empty())
      throw UnimplementedError("{}: \"{}\" is partitioned into {} slices; such cannot be read",
                               prefix, name, entry.slices.size());
    if (element_size(entry.dtype) == 0)
      throw UnimplementedError("{}: \"{}\" has the type {}; such cannot be read", prefix, name,
                               entry.dtype);
    return entry;
  }

  const std::string prefix;
  const internal::BundleIndex index;
  const internal::BundleData data;
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

Tensor CheckpointReader::read(std::string_view name) const {
  const BundleEntry& entry = state_->readable_entry(name);
  state_->data.check_place(entry, name);  // Before memory is taken for it.
  Tensor tensor(entry.dtype, entry.shape);
  state_->data.read(entry, name, tensor.mutable_bytes());
  return tensor;
}

void CheckpointReader::read_into(std::string_view name, std::span<std::byte> destination) const {
  const BundleEntry& entry = state_->readable_entry(name);
  if (destination.size() != static_cast<uint64_t>(entry.size))
    throw InvalidArgumentError("{}: \"{}\" has {} bytes, the destination {}", state_->prefix, name,
                               entry.size, destination.size());
  state_->data.read(entry, name, destination);
}

void CheckpointReader::verify() const {
  for (const auto& [name, entry] : state_->index.entries)
    if (entry.slices.empty()) state_->data.verify(entry, name);
}

}  // namespace crochet
