// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/base/export.h"
#include "crochet/base/read_bytes.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0 {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// A value changed, but its writer did not announce that, though snapshots rely on it.
class CROCHET_EXPORT UnannouncedWriteError : public FailedPreconditionError {
 public:
  using FailedPreconditionError::FailedPreconditionError;
};

// Copies for a snapshot that are still being made, or that are only made if they are needed.
//
// Thread-safe.
class CROCHET_EXPORT PendingCopies {
 public:
  virtual ~PendingCopies() = default;
  // Blocks until all are made. Throws the error that stopped them.
  virtual void wait() = 0;
  // Blocks until each tensor that they fill has its elements, or is_pending(). By default wait().
  virtual void wait_until_readable() { wait(); }
  // True if they fill this tensor, whose elements can be read only by read() so far.
  virtual bool is_pending(const Tensor&) const { return false; }
  // Reads bytes of the elements as ReadBytes does, whether they are copied meanwhile or not.
  // Requires: is_pending() was true. Throws the error that stopped the copies.
  virtual void read(const Tensor&, size_t /*begin*/, std::span<std::byte> /*into*/) {}
  // A number for the elements of a tensor that they fill: the same number in two snapshots of this
  // process means the same elements. 0 if they do not fill it, or cannot tell.
  virtual uint64_t version_of(const Tensor&) const { return 0; }
  // A tensor that they fill has other elements than one of the same version, so a write to it was
  // not announced: later snapshots must not rely on announcements.
  virtual void note_unannounced_write(const Tensor&) noexcept {}
  // Called once all tensors of the snapshot are readable. Throws: FailedPreconditionError that
  // names values that are not of one step, as far as the engine can tell; UnannouncedWriteError
  // if that is why.
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
  void add(std::shared_ptr<PendingCopies> copies);

  // The graph as bytes, for the `.meta` file of the checkpoint; null if there is none.
  void set_meta_graph(std::shared_ptr<const std::string> bytes) { meta_graph_ = std::move(bytes); }
  const std::string* meta_graph() const { return meta_graph_.get(); }

  // True if it has no tensors.
  bool empty() const { return tensors_.empty(); }

  // For savers: the tensors, of which some may have no elements yet, and need none if they are read
  // by pending(). Throws the error that stopped a copy.
  const std::vector<NamedTensor>& readable() const&;
  const std::vector<NamedTensor>& readable() && = delete;  // It would dangle.
  // The same without waiting: their elements may not be there yet.
  const std::vector<NamedTensor>& unread() const& { return tensors_; }
  const std::vector<NamedTensor>& unread() && = delete;
  // How to read the elements of one of them if it has none yet; otherwise empty. The result is
  // valid as long as this snapshot.
  ReadBytes pending(const Tensor& tensor) const;

  // For savers: a number for the elements of one of them; see PendingCopies, and Tensor::version().
  // 0 if nothing can tell whether they are those of another snapshot.
  uint64_t version_of(const Tensor& tensor) const;

  // For savers: one of them has other elements than a tensor that had the same version.
  void note_unannounced_write(const Tensor& tensor) const noexcept;

  // For savers: nothing needs the elements any more. The copies that are not made yet need not be.
  std::vector<std::shared_ptr<PendingCopies>> take_copies();

  // For engines that check what programs promise: savers then take nothing as unchanged without
  // comparing its elements.
  void distrust() { is_trusted_ = false; }
  bool is_trusted() const { return is_trusted_; }

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
  void wait() const;

  std::vector<NamedTensor> tensors_;
  std::vector<uint64_t> versions_;  // By tensor, when the snapshot was taken.
  std::vector<std::shared_ptr<PendingCopies>> copies_;
  std::shared_ptr<const std::string> meta_graph_;
  bool is_trusted_ = true;
};

}  // namespace crochet::inline v0
