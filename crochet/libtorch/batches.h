// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/libtorch/internal/batch_reader.h"
#include "crochet/tracking/epochs.h"

namespace crochet::inline v0::libtorch {

// Batches of a dataset of LibTorch, epoch after epoch, each in a new random order, which resume
// exactly where a checkpoint was saved, in the middle of an epoch too. (A torch::data::DataLoader
// cannot: it reads ahead, and begins an epoch with a new order.)
//
//   auto dataset = torch::data::datasets::MNIST(path).map(torch::data::transforms::Stack<>());
//   libtorch::Batches batches(dataset, {.batch_size = 64, .seed = 1});
//   loop.track("batches", batches);
//   loop.run([&] {
//     auto [x, y] = batches.next();
//     ...
//   });
//
// A dataset is anything with size() and get_batch(indices), so also a program's own class. A thread
// reads the next batches while a step runs. Then get_batch() is called on that thread: it must not
// draw from the generators that the training uses, or a resumed run draws other numbers; use one
// that is seeded from the indices, or no read-ahead.
//
// As with Epochs, the checkpoint has only the position. The order is that of EpochOrder; the loop
// has a value and curve "epoch". For one thread, and not to be moved once it is tracked. In a
// forked child, next() throws a FailedPreconditionError.
template <typename Dataset>
class Batches : public EpochOrder {
 public:
  using Batch = std::decay_t<decltype(std::declval<Dataset&>().get_batch(
      std::declval<const std::vector<size_t>&>()))>;

  // Reads at most `read_ahead` batches ahead of next(); 0: next() reads, and there is no thread.
  // Throws: as EpochOrder.
  explicit Batches(Dataset dataset, const EpochsOptions& options = {}, size_t read_ahead = 2)
      : EpochOrder(options),
        dataset_(std::move(dataset)),
        read_ahead_(read_ahead),
        ahead_(*this),
        reader_(
            [this](const std::vector<size_t>& elements) {
              return std::make_shared<Batch>(dataset_.get_batch(elements));
            },
            read_ahead > 0) {}

  // The next batch. Throws: an OutOfRangeError after the last epoch, which ends a loop's run
  // cleanly; what get_batch() throws: then the next call reads the same batch again.
  Batch next() {
    read_ahead();
    if (reader_.num_requested() == 0) {
      next_batch(size());  // Throws, as it did ahead.
      restart();
      return next();
    }
    std::shared_ptr<void> batch;
    try {
      batch = reader_.take();
      next_batch(size());
    } catch (...) {
      restart();
      throw;
    }
    read_ahead();
    return std::move(*static_cast<Batch*>(batch.get()));
  }

  // See Epochs.
  RestOfEpoch<Batches> rest_of_epoch() { return RestOfEpoch<Batches>(*this); }

  // As EpochOrder::restore().
  void restore(const TensorMap& state) {
    EpochOrder::restore(state);
    restart();
  }

 private:
  int64_t size() const {
    if constexpr (requires { dataset_.size().value(); }) {
      return static_cast<int64_t>(dataset_.size().value());
    } else {
      return static_cast<int64_t>(dataset_.size());
    }
  }

  void read_ahead() {
    while (reader_.num_requested() <= read_ahead_ && !at_end_) {
      try {
        const int64_t count = ahead_.next_batch(size());
        std::vector<size_t> elements(static_cast<size_t>(count));
        for (int64_t i = 0; i < count; ++i)
          elements[static_cast<size_t>(i)] = static_cast<size_t>(ahead_.element(i));
        reader_.request(std::move(elements));
      } catch (const OutOfRangeError&) {
        at_end_ = true;
      }
    }
  }

  // Reads again from the position of next().
  void restart() {
    reader_.clear();
    ahead_ = *this;
    at_end_ = false;
  }

  Dataset dataset_;
  const size_t read_ahead_;
  EpochOrder ahead_;  // Its position is that of the reader.
  bool at_end_ = false;
  internal::BatchReader reader_;  // Last, as it uses the others.
};

}  // namespace crochet::inline v0::libtorch
