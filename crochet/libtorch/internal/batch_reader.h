// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {
template <typename T>
class ProcessBound;
}  // namespace crochet::inline v0::internal

namespace crochet::inline v0::libtorch::internal {

// Reads batches in a thread of its own, in the order in which they are requested. For one caller.
// In a forked child, which does not have the thread, functions throw a FailedPreconditionError.
class CROCHET_EXPORT BatchReader {
 public:
  using Batch = std::shared_ptr<void>;
  using Read = std::function<Batch(const std::vector<size_t>& elements)>;

  // Without a thread, take() reads.
  BatchReader(Read read, bool has_thread);
  // Waits for the batch that is being read.
  ~BatchReader();
  BatchReader(const BatchReader&) = delete;
  BatchReader& operator=(const BatchReader&) = delete;

  void request(std::vector<size_t> elements);
  // The batches that are requested and not taken.
  size_t num_requested() const;
  // The batch that was requested first, once it is read. Throws what reading it threw. Requires:
  // num_requested() > 0.
  Batch take();
  // Forgets all requests.
  void clear();

 private:
  class Queue;

  const std::unique_ptr<crochet::internal::ProcessBound<Queue>> queue_;
};

}  // namespace crochet::inline v0::libtorch::internal
