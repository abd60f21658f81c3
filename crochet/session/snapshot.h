// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0 {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// Copies for a snapshot that are still being made.
//
// Thread-safe.
class CROCHET_EXPORT PendingCopies {
 public:
  virtual ~PendingCopies() = default;
  // Blocks until all are made. Throws the error that stopped them.
  virtual void wait() = 0;
  // Called once all copies of the snapshot are made. Throws: FailedPreconditionError that names
  // values that are not of one step, as far as the engine can tell.
  virtual void verify() const {}
};

// The state between two steps: named tensors that do not change, in no particular
// order. An engine may still be filling some of their memory; then tensors()
// waits.
//
// A value; copies share the tensors. As thread-safe as a plain value.
class CROCHET_EXPORT Snapshot {
 public:
  Snapshot() = default;
  explicit Snapshot(std::vector<NamedTensor> tensors, std::shared_ptr<PendingCopies> copies = {});

  // Adds a tensor captured separately at the same step.
  void add(NamedTensor tensor);

  // Adds copies that fill some of the tensors; null if there are none.
  void add(std::shared_ptr<PendingCopies> copies) {
    if (copies) copies_.push_back(std::move(copies));
  }

  // The graph as bytes, for the `.meta` file of the checkpoint; null if there is none.
  void set_meta_graph(std::shared_ptr<const std::string> bytes) { meta_graph_ = std::move(bytes); }
  const std::string* meta_graph() const { return meta_graph_.get(); }

  // True if it has no tensors.
  bool empty() const { return tensors_.empty(); }

  // Waits until all copies are made. Throws the error that stopped a copy.
  const std::vector<NamedTensor>& tensors() const& {
    wait();
    return tensors_;
  }
  // Of a temporary, by value: a reference would dangle.
  std::vector<NamedTensor> tensors() && {
    wait();
    return std::move(tensors_);
  }
  // Throws: FailedPreconditionError that names a tensor whose memory was opened for writing since
  // the snapshot was taken, as its version number shows, or as the engine reports. Savers call it
  // before they publish: a state torn between steps is an error and is never published.
  void verify() const;
  // The bytes of all elements; does not wait.
  size_t num_bytes() const {
    size_t sum = 0;
    for (const NamedTensor& entry : tensors_) sum += entry.tensor.num_bytes();
    return sum;
  }

 private:
  void wait() const {
    for (const std::shared_ptr<PendingCopies>& copies : copies_) copies->wait();
  }

  std::vector<NamedTensor> tensors_;
  std::vector<uint64_t> versions_;  // By tensor, when the snapshot was taken.
  std::vector<std::shared_ptr<PendingCopies>> copies_;
  std::shared_ptr<const std::string> meta_graph_;
};

}  // namespace crochet::inline v0
