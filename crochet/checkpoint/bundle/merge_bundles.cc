// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/merge_bundles.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle/internal/bundle_format.h"
#include "crochet/checkpoint/bundle/internal/bundle_index.h"
#include "crochet/checkpoint/bundle/internal/table_writer.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/format/internal/slice_key.h"
#include "crochet/checkpoint/format/internal/staged_files.h"
#include "crochet/checkpoint/format/internal/stored_tensor.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/tensor/internal/slice_cover.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0 {
namespace {

using internal::BundleHeader;
using internal::BundleIndex;
using internal::StoredTensor;

struct Input {
  std::string prefix;
  BundleIndex index;
};

std::vector<Input> read_inputs(FileSystem& files, std::span<const std::string> prefixes) {
  std::vector<Input> inputs;
  for (const std::string& prefix : prefixes)
    inputs.push_back(
        {prefix, internal::read_bundle_index(files, internal::index_filename(prefix))});
  return inputs;
}

// All fields except the number of data files must agree.
BundleHeader common_header(const std::vector<Input>& inputs) {
  BundleHeader first = inputs.front().index.header;
  for (const Input& input : inputs) {
    BundleHeader header = input.index.header;
    header.num_shards = first.num_shards;
    if (header != first)
      throw InvalidArgumentError(
          fmt::format("{} and {} differ in byte order or version of the format",
                      inputs.front().prefix, input.prefix));
  }
  return first;
}

// The result of the merge: one index, and new names for the data files.
class Merge {
 public:
  Merge(const std::vector<Input>& inputs, std::string output,
        const std::function<bool(std::string_view)>& joins_rows)
      : output_(std::move(output)), header_(common_header(inputs)) {
    for (const Input& input : inputs) number_shards(input);
    for (const Input& input : inputs)
      for (const auto& [name, entry] : input.index.entries)
        if (joins_rows && joins_rows(name))
          add_rows(input, name, entry);
        else
          add(input, name, entry);
    for (const auto& [name, origins] : origins_) check_overlap(name, origins);
    for (const auto& [name, parts] : rows_) join_rows(name, parts, inputs.size());
    // Even the header of a bundle without data has one file.
    header_.num_shards = std::max(1, static_cast<int>(sources_.size()));
    if (header_.num_shards > internal::kMaxShards)
      throw InvalidArgumentError(fmt::format("{}: found {} data files, expected at most {}",
                                             output_, sources_.size(), internal::kMaxShards));
  }

  // The data files in order, by their names in the inputs.
  const std::vector<std::string>& sources() const { return sources_; }
  std::string destination(size_t i) const {
    return internal::data_filename(output_, static_cast<int>(i), header_.num_shards);
  }
  std::string table() const {
    internal::TableWriter table;
    table.add("", encode(header_));
    for (const auto& [name, entry] : entries_) table.add(name, encode(entry));
    return table.finish();
  }

 private:
  // Files without entries get no number: header and names must agree.
  void number_shards(const Input& input) {
    for (const int shard : used_shards(input.index)) {
      numbers_[{&input, shard}] = static_cast<int32_t>(sources_.size());
      sources_.push_back(
          internal::data_filename(input.prefix, shard, input.index.header.num_shards));
    }
  }

  void add(const Input& input, const std::string& name, StoredTensor entry) {
    if (entry.slices.empty()) entry.shard = numbers_.at({&input, entry.shard});
    const auto [known, is_new] = entries_.try_emplace(name, entry);
    if (!is_new) add_slices(input, name, known->second, entry);
    if (!entry.slices.empty()) origins_[name].resize(known->second.slices.size(), &input);
  }

  void add_rows(const Input& input, const std::string& name, StoredTensor entry) {
    if (!entry.slices.empty() || entry.shape.rank() == 0)
      throw InvalidArgumentError(fmt::format("{}: \"{}\" in {} is {} in {} slices, expected rows",
                                             output_, name, input.prefix, entry.shape,
                                             entry.slices.size()));
    entry.shard = numbers_.at({&input, entry.shard});
    std::vector<StoredTensor>& parts = rows_[name];
    if (!parts.empty() && (parts.front().dtype != entry.dtype ||
                           row_shape(parts.front().shape) != row_shape(entry.shape)))
      throw InvalidArgumentError(fmt::format(
          "{}: \"{}\" is {} {} in {} and {} {} in an earlier input, expected rows of the same type",
          output_, name, entry.dtype, entry.shape, input.prefix, parts.front().dtype,
          parts.front().shape));
    parts.push_back(std::move(entry));
  }

  static std::vector<int64_t> row_shape(const Shape& shape) {
    return {shape.dimensions().begin() + 1, shape.dimensions().end()};
  }

  // Parts without rows have no slice: a slice is not empty.
  void join_rows(const std::string& name, const std::vector<StoredTensor>& parts,
                 size_t num_inputs) {
    if (parts.size() != num_inputs)
      throw InvalidArgumentError(
          fmt::format("{}: \"{}\" is in {} of {} parts, expected its rows in "
                      "all",
                      output_, name, parts.size(), num_inputs));
    StoredTensor whole{.dtype = parts.front().dtype};
    std::vector<int64_t> sizes = {0};
    std::ranges::copy(row_shape(parts.front().shape), std::back_inserter(sizes));
    const StoredTensor* last = &parts.front();
    for (const StoredTensor& part : parts) {
      if (part.shape.num_elements() == 0) {
        sizes[0] += part.shape[0];
        continue;
      }
      TensorSlice slice(sizes.size());
      slice[0] = {sizes[0], part.shape[0]};
      sizes[0] += part.shape[0];
      entries_.emplace(internal::slice_key(name, slice), part);
      whole.slices.push_back(std::move(slice));
      last = &part;
    }
    whole.shape = Shape(sizes);
    if (whole.slices.size() > 1) {
      entries_.emplace(name, std::move(whole));
      return;
    }
    if (!whole.slices.empty()) entries_.erase(internal::slice_key(name, whole.slices.front()));
    StoredTensor only = *last;
    only.shape = Shape(sizes);
    entries_.emplace(name, std::move(only));
  }

  void add_slices(const Input& input, const std::string& name, StoredTensor& to,
                  const StoredTensor& from) const {
    if (to.slices.empty() || from.slices.empty())
      throw InvalidArgumentError(
          fmt::format("{}: \"{}\" is in {} and in an earlier input", output_, name, input.prefix));
    if (to.dtype != from.dtype || to.shape != from.shape)
      throw InvalidArgumentError(
          fmt::format("{}: \"{}\" is {} {} in {} and {} {} in an earlier input", output_, name,
                      from.dtype, from.shape, input.prefix, to.dtype, to.shape));
    std::ranges::copy(from.slices, std::back_inserter(to.slices));
  }

  // `origins` are the inputs of the slices, in their order.
  void check_overlap(const std::string& name, const std::vector<const Input*>& origins) const {
    const StoredTensor& entry = entries_.at(name);
    std::vector<TensorSlice> slices;
    for (const TensorSlice& slice : entry.slices)
      slices.push_back(internal::resolved(slice, entry.shape));
    const internal::SliceCover cover = internal::cover_of(slices);
    if (cover.is_entangled)
      throw InvalidArgumentError(
          fmt::format("{}: the {} slices of \"{}\" are too entangled to compare", output_,
                      slices.size(), name));
    if (!cover.overlap) return;
    const auto& [i, j] = *cover.overlap;
    throw InvalidArgumentError(fmt::format(
        "{}: slice {} of \"{}\" in {} overlaps {} in {}", output_, to_string(entry.slices[j]), name,
        origins[j]->prefix, to_string(entry.slices[i]), origins[i]->prefix));
  }

  const std::string output_;
  BundleHeader header_;
  std::map<std::pair<const Input*, int32_t>, int32_t> numbers_;
  std::vector<std::string> sources_;
  std::map<std::string, std::vector<StoredTensor>> rows_;  // By name, in the order of the inputs.
  std::map<std::string, StoredTensor> entries_;
  std::map<std::string, std::vector<const Input*>> origins_;  // Of slices, in their order.
};

void check_data(FileSystem& files, const Merge& merge) {
  for (size_t i = 0; i < merge.sources().size(); ++i)
    if (!files.exists(merge.sources()[i]) && !files.exists(merge.destination(i)))
      throw DataLossError(
          fmt::format("{}: there is no such file, but its index needs it", merge.sources()[i]));
}

void remove_input(FileSystem& files, const Input& input) {
  files.remove(internal::index_filename(input.prefix));
  for (int shard = 0; shard < input.index.header.num_shards; ++shard) {
    const std::string unused =
        internal::data_filename(input.prefix, shard, input.index.header.num_shards);
    if (files.exists(unused)) files.remove(unused);
  }
}

}  // namespace

void merge_bundles(FileSystem& files, std::span<const std::string> prefixes,
                   const std::string& output,
                   const std::function<bool(std::string_view)>& joins_rows) {
  if (prefixes.empty()) throw InvalidArgumentError(fmt::format("{}: no inputs to merge", output));
  if (files.exists(internal::index_filename(output)))
    throw AlreadyExistsError(fmt::format("{}: the checkpoint already exists", output));
  const std::vector<Input> inputs = read_inputs(files, prefixes);
  const Merge merge(inputs, output, joins_rows);
  check_data(files, merge);

  internal::StagedFiles staged(files, output);
  for (size_t i = 0; i < merge.sources().size(); ++i)
    staged.rename_too(merge.sources()[i], merge.destination(i));
  staged.create(internal::index_filename(output)).append(merge.table());
  staged.sync();
  staged.publish();
  for (const Input& input : inputs) remove_input(files, input);
}

}  // namespace crochet::inline v0
