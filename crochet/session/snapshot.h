// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "crochet/tensor/tensor.h"

namespace crochet {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// Copies that were promised for a snapshot and are still being made.
//
// Thread-safe.
class PendingCopies {
 public:
  virtual ~PendingCopies() = default;
  // Blocks until all are made. Throws what stopped them.
  virtual void wait() = 0;
  // Called behind wait(). Throws: FailedPreconditionError that names what is not of one step, as
  // far as the engine can tell.
  virtual void verify() const {}
};

// The state between two steps: named tensors that will never change, sorted by
// nothing in particular. Some of their memory may still be being filled by an
// engine; then tensors() waits.
//
// A value; copies share the tensors. Thread-safe as a plain value is.
class Snapshot {
 public:
  Snapshot() = default;
  explicit Snapshot(std::vector<NamedTensor> tensors, std::shared_ptr<PendingCopies> copies = {});

  // Adds what was taken elsewhere at the same step.
  void add(NamedTensor tensor);

  // The graph as bytes, for the file beside the checkpoint; null if there is none.
  void set_meta_graph(std::shared_ptr<const std::string> bytes) { meta_graph_ = std::move(bytes); }
  const std::string* meta_graph() const { return meta_graph_.get(); }

  // True if it has no tensors.
  bool empty() const { return tensors_.empty(); }

  // Waits until every byte is there. Throws what kept a copy from being made.
  const std::vector<NamedTensor>& tensors() const& {
    if (copies_) copies_->wait();
    return tensors_;
  }
  // Of a temporary, by value: a reference would dangle.
  std::vector<NamedTensor> tensors() && {
    if (copies_) copies_->wait();
    return std::move(tensors_);
  }
  // Throws: FailedPreconditionError that names a tensor that somebody asked to write to since the
  // snapshot was taken, by the version of its memory, and what the engine has to say. Savers call
  // it before they publish: a torn state is an error, never a file.
  void verify() const;
  // The bytes of all elements; known at once.
  size_t num_bytes() const {
    size_t sum = 0;
    for (const NamedTensor& entry : tensors_) sum += entry.tensor.num_bytes();
    return sum;
  }

 private:
  std::vector<NamedTensor> tensors_;
  std::vector<uint64_t> versions_;  // By tensor; those at the boundary between two steps.
  std::shared_ptr<PendingCopies> copies_;
  std::shared_ptr<const std::string> meta_graph_;
};

}  // namespace crochet
