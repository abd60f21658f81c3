// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/checkpoint_pass.h"

#include <algorithm>
#include <numeric>

#include "crochet/checkpoint/bundle_contents.h"

namespace crochet {

using internal::BundleContents;
using internal::BundleEntry;
using internal::BundlePass;
using internal::LocatedTensor;
using internal::StoredSlice;

namespace {

std::vector<LocatedTensor> locate_all(const BundleContents& contents,
                                      const std::vector<TensorRequest>& requests) {
  std::vector<LocatedTensor> located;
  located.reserve(requests.size());
  for (const TensorRequest& request : requests)
    located.push_back(contents.locate(request.name, request.slice ? &*request.slice : nullptr));
  return located;
}

std::vector<const BundleEntry*> entries_of(const std::vector<LocatedTensor>& located) {
  std::vector<const BundleEntry*> entries;
  for (const LocatedTensor& tensor : located)
    for (const StoredSlice& part : tensor.parts) entries.push_back(part.entry);
  return entries;
}

// An empty slice of a partitioned tensor has no part.
bool is_before(const LocatedTensor& a, const LocatedTensor& b) {
  if (a.parts.empty() || b.parts.empty()) return a.parts.empty() && !b.parts.empty();
  return BundlePass::is_before(*a.parts.front().entry, *b.parts.front().entry);
}

// A tensor in several parts takes them in the order of the files, too.
void sort_parts(LocatedTensor& tensor) {
  std::ranges::sort(tensor.parts, [](const StoredSlice& a, const StoredSlice& b) {
    return BundlePass::is_before(*a.entry, *b.entry);
  });
}

}  // namespace

struct CheckpointPass::State {
  State(const BundleContents& from, std::vector<LocatedTensor> located)
      : contents(from), tensors(std::move(located)), pass(from.data(), entries_of(tensors)) {}

  const BundleContents& contents;
  const std::vector<LocatedTensor> tensors;
  BundlePass pass;
};

CheckpointPass::CheckpointPass(const CheckpointReader& reader,
                               const std::vector<TensorRequest>& requests) {
  std::vector<LocatedTensor> located = locate_all(*reader.contents_, requests);
  for (LocatedTensor& tensor : located) sort_parts(tensor);
  order_.resize(located.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::ranges::stable_sort(order_,
                           [&](size_t a, size_t b) { return is_before(located[a], located[b]); });
  state_ = std::make_unique<State>(*reader.contents_, std::move(located));
}

CheckpointPass::~CheckpointPass() = default;

Tensor CheckpointPass::read(size_t number) {
  return state_->contents.read(state_->tensors[number], state_->pass);
}

void CheckpointPass::read_into(size_t number, std::span<std::byte> destination) {
  state_->contents.read_into(state_->tensors[number], state_->pass, destination);
}

}  // namespace crochet
