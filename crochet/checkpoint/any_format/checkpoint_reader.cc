// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/any_format/checkpoint_reader.h"

#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/internal/escape.h"
#include "crochet/checkpoint/any_format/internal/checkpoint_contents.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/format/internal/stored_tensor.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0 {
namespace {

// TensorFlow's name for a type in its messages: "DT_FLOAT".
std::string data_type_name(DType dtype) {
  if (dtype == DType::kFloat) return "DT_FLOAT";
  if (dtype == DType::kDouble) return "DT_DOUBLE";
  if (dtype == DType::kHalf) return "DT_HALF";
  std::string name = fmt::format("DT_{}", dtype);
  for (char& c : name)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return name;
}

}  // namespace

using internal::CheckpointContents;
using internal::ReadRun;
using internal::StoredTensor;

CheckpointReader::CheckpointReader(std::string prefix, FileSystem& files)
    : contents_(std::make_shared<CheckpointContents>(std::move(prefix), files)) {}
CheckpointReader::~CheckpointReader() = default;
CheckpointReader::CheckpointReader(CheckpointReader&&) noexcept = default;
CheckpointReader& CheckpointReader::operator=(CheckpointReader&&) noexcept = default;

const std::string& CheckpointReader::prefix() const& { return contents_->prefix(); }

const std::map<std::string, TensorInfo, std::less<>>& CheckpointReader::tensors() const& {
  return contents_->infos();
}

const UnreadableValues& CheckpointReader::unreadable() const& { return contents_->unreadable(); }

bool CheckpointReader::contains(std::string_view name) const {
  return contents_->find(name) != nullptr;
}

CheckpointFormat CheckpointReader::format() const { return contents_->opened().format; }

bool CheckpointReader::has_checksums() const { return contents_->opened().has_checksums; }

const std::map<std::string, std::string, std::less<>>& CheckpointReader::metadata() const& {
  return contents_->opened().metadata;
}

Tensor CheckpointReader::read(std::string_view name) const {
  ReadRun pass(contents_->data());
  return contents_->read(contents_->locate(name), pass);
}

Tensor CheckpointReader::map(std::string_view name) const {
  const internal::LocatedTensor located = contents_->locate(name);
  if (std::optional<Tensor> mapped = contents_->map(located)) return *std::move(mapped);
  ReadRun pass(contents_->data());
  return contents_->read(located, pass);
}

Tensor CheckpointReader::read_slice(std::string_view name, const TensorSlice& slice) const {
  ReadRun pass(contents_->data());
  return contents_->read(contents_->locate(name, &slice), pass);
}

const std::vector<TensorSlice>& CheckpointReader::slices(std::string_view name) const& {
  return contents_->item(name).second.slices;
}

void CheckpointReader::read_into(std::string_view name, std::span<std::byte> destination) const {
  ReadRun pass(contents_->data());
  contents_->read_into(contents_->locate(name), pass, destination);
}

void CheckpointReader::read_slice_into(std::string_view name, const TensorSlice& slice,
                                       std::span<std::byte> destination) const {
  ReadRun pass(contents_->data());
  contents_->read_into(contents_->locate(name, &slice), pass, destination);
}

std::string CheckpointReader::debug_string() const {
  std::string text;
  for (const auto& [name, info] : tensors())
    text += fmt::format("{} ({}) {}\n", internal::escape_name(name), data_type_name(info.dtype),
                        info.shape);
  return text;
}

void CheckpointReader::verify() const { contents_->verify(); }

void CheckpointReader::verify(std::string_view name) const { contents_->verify(name); }

bool checkpoint_exists(FileSystem& files, const std::string& prefix) {
  return internal::find_index(files, prefix) || files.exists(prefix);
}

}  // namespace crochet::inline v0
