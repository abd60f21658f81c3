// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/any_format/internal/checkpoint_pass.h"

#include <algorithm>
#include <numeric>

#include "crochet/checkpoint/any_format/internal/checkpoint_contents.h"
#include "crochet/checkpoint/format/internal/stored_tensor.h"

namespace crochet::inline v0::internal {

namespace {

std::vector<LocatedTensor> locate_all(const CheckpointReader& reader,
                                      const std::vector<TensorRequest>& requests) {
  const CheckpointContents& contents = CheckpointContents::of(reader);
  std::vector<LocatedTensor> located;
  located.reserve(requests.size());
  for (const TensorRequest& request : requests)
    located.push_back(contents.locate(request.name, request.slice ? &*request.slice : nullptr));
  return located;
}

std::vector<const StoredTensor*> entries_of(const std::vector<LocatedTensor>& located) {
  std::vector<const StoredTensor*> entries;
  entries.reserve(located.size());
  for (const LocatedTensor& tensor : located) {
    if (!tensor.target) entries.push_back(tensor.entry);
    for (const StoredSlice& part : tensor.parts) entries.push_back(part.entry);
  }
  return entries;
}

// A tensor in several data files is ordered by its part in the last file: its earlier parts are
// read again, but all other tensors are read in one pass. Null for an empty slice of a tensor in
// parts.
const StoredTensor* last_entry(const LocatedTensor& tensor) {
  if (!tensor.target) return tensor.entry;
  return tensor.parts.empty() ? nullptr : tensor.parts.back().entry;
}

bool is_before(const LocatedTensor& a, const LocatedTensor& b) {
  const StoredTensor* const last = last_entry(a);
  const StoredTensor* const other = last_entry(b);
  if (last == nullptr || other == nullptr) return last == nullptr && other != nullptr;
  return ReadRun::is_before(*last, *other);
}

// The parts of a tensor are also read in the order of the files.
void sort_parts(LocatedTensor& tensor) {
  std::ranges::sort(tensor.parts, [](const StoredSlice& a, const StoredSlice& b) {
    return ReadRun::is_before(*a.entry, *b.entry);
  });
}

}  // namespace

struct CheckpointPass::State {
  State(const CheckpointContents& from, std::vector<LocatedTensor> located)
      : contents(from), tensors(std::move(located)), pass(from.data(), entries_of(tensors)) {}

  const CheckpointContents& contents;
  const std::vector<LocatedTensor> tensors;
  ReadRun pass;
};

CheckpointPass::CheckpointPass(const CheckpointReader& reader,
                               const std::vector<TensorRequest>& requests)
    : CheckpointPass(locate_all(reader, requests), reader) {}

CheckpointPass::CheckpointPass(std::vector<LocatedTensor> located, const CheckpointReader& reader) {
  for (LocatedTensor& tensor : located) sort_parts(tensor);
  order_.resize(located.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  const auto is_before_of = [&](size_t a, size_t b) { return is_before(located[a], located[b]); };
  if (!std::ranges::is_sorted(order_, is_before_of)) std::ranges::stable_sort(order_, is_before_of);
  state_ = std::make_shared<State>(CheckpointContents::of(reader), std::move(located));
}

CheckpointPass::~CheckpointPass() = default;

Tensor CheckpointPass::read(size_t number) {
  return state_->contents.read(state_->tensors[number], state_->pass);
}

void CheckpointPass::read_into(size_t number, std::span<std::byte> destination) {
  state_->contents.read_into(state_->tensors[number], state_->pass, destination);
}

}  // namespace crochet::inline v0::internal
