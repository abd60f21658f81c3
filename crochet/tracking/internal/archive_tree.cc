// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tracking/internal/archive_tree.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

constexpr std::string_view kSize = "size";

std::string joined(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}/{}", path, name);
}

}  // namespace

std::string ArchiveNames::take() {
  if (nodes_.empty()) return std::exchange(next_, {});
  Node& node = nodes_.back();
  if (next_.empty()) next_ = fmt::format("value{}", node.num_unnamed++);
  return joined(node.path, std::exchange(next_, {}));
}

void ArchiveNames::begin_node() {
  std::string path = take();
  nodes_.push_back({std::move(path)});
}

void ArchiveNames::end_node() { nodes_.pop_back(); }

// ---- Writing.

void ArchiveTreeWriter::begin_node() {
  if (!arrays_.empty()) ++arrays_.back().num_children;
  names_.begin_node();
  arrays_.emplace_back();
}

// A node that is nothing but an array is that array.
void ArchiveTreeWriter::end_node() {
  const Array node = std::move(arrays_.back());
  arrays_.pop_back();
  const std::string path = names_.path();
  names_.end_node();
  if (node.num_children != 1 || node.name.empty() || path.empty()) return;
  const auto size = tensors_.find(joined(path, kSize));
  const auto array = tensors_.find(node.name);
  if (size != tensors_.end()) {
    if (size->second.scalar<uint64_t>() != static_cast<uint64_t>(array->second.num_elements()))
      return;
    tensors_.erase(size);
  }
  Tensor value = std::move(array->second);
  tensors_.erase(array);
  tensors_.emplace(path, std::move(value));
}

void ArchiveTreeWriter::put(std::string name, Tensor value) {
  const auto [place, is_new] = tensors_.emplace(std::move(name), std::move(value));
  if (!is_new)
    throw InvalidArgumentError(
        fmt::format("\"{}\" is written twice: give each member a name of its own", place->first));
}

void ArchiveTreeWriter::add(Tensor value) {
  if (!arrays_.empty()) ++arrays_.back().num_children;
  put(names_.take(), std::move(value));
}

void ArchiveTreeWriter::add_array(DType dtype, std::span<const std::byte> values) {
  const auto size = static_cast<int64_t>(values.size() / element_size(dtype));
  Tensor tensor(dtype, {size});
  if (!values.empty())
    std::memcpy(tensor.writable_bytes().data(), values.data(), tensor.num_bytes());
  std::string name = names_.take();
  if (!arrays_.empty()) {
    ++arrays_.back().num_children;
    arrays_.back().name = name;
  }
  put(std::move(name), std::move(tensor));
}

void ArchiveTreeWriter::add_size(uint64_t size) {
  put(joined(names_.is_outside() ? "" : names_.path(), kSize), Tensor::scalar(size));
}

TensorMap ArchiveTreeWriter::take() { return std::move(tensors_); }

// ---- Reading.

void ArchiveTreeReader::begin_node() { names_.begin_node(); }
void ArchiveTreeReader::end_node() { names_.end_node(); }

const Tensor& ArchiveTreeReader::find(const std::string& name) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    throw InvalidArgumentError(fmt::format("\"{}\" is missing in the checkpoint", name));
  read_.insert(name);
  return found->second;
}

const Tensor& ArchiveTreeReader::take(DType dtype) {
  const std::string name = names_.take();
  const Tensor& tensor = find(name);
  if (tensor.dtype() != dtype || tensor.shape() != Shape())
    throw InvalidArgumentError(
        fmt::format("\"{}\" is {}, expected one {}", name, describe(tensor), dtype_name(dtype)));
  return tensor;
}

void ArchiveTreeReader::take_array(DType dtype, std::span<std::byte> values) {
  // The node itself, or a child of it.
  const std::string child = names_.take();
  const bool is_node = !names_.is_outside() && tensors_.contains(names_.path());
  const std::string& name = is_node ? names_.path() : child;
  const Tensor& tensor = find(name);
  const auto size = static_cast<int64_t>(values.size() / element_size(dtype));
  if (tensor.dtype() != dtype || tensor.shape() != Shape({size}))
    throw InvalidArgumentError(fmt::format("\"{}\" is {}, expected {} {}", name, describe(tensor),
                                           size, dtype_name(dtype)));
  if (dtype == DType::kBool) static_cast<void>(tensor.flat<bool>());  // Checks them.
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes().data(), values.size());
}

uint64_t ArchiveTreeReader::take_size() {
  const std::string path = names_.is_outside() ? "" : names_.path();
  if (const auto array = tensors_.find(path); !path.empty() && array != tensors_.end())
    return static_cast<uint64_t>(array->second.num_elements());
  const std::string name = joined(path, kSize);
  const auto size = find(name).scalar<uint64_t>();
  // Each element is a value, or has one.
  uint64_t num_stored = 0;
  const std::string beginning = path.empty() ? "" : path + "/";
  for (auto each = tensors_.lower_bound(beginning);
       each != tensors_.end() && each->first.starts_with(beginning); ++each)
    num_stored += static_cast<uint64_t>(std::max<int64_t>(each->second.num_elements(), 1));
  if (size > num_stored)
    throw InvalidArgumentError(
        fmt::format("\"{}\" is {}, but only {} values are stored there", name, size, num_stored));
  return size;
}

void ArchiveTreeReader::check_all_is_read() const {
  for (const auto& [name, tensor] : tensors_)
    if (!read_.contains(name))
      throw InvalidArgumentError(
          fmt::format("the checkpoint has \"{}\", which the program does not read", name));
}

}  // namespace crochet::inline v0::internal
