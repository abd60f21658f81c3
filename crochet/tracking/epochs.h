// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/session/saveable.h"

namespace crochet::inline v0 {

struct EpochsOptions {
  // Elements of a batch. The last batch of an epoch may have fewer.
  int64_t batch_size = 1;
  // Determines the order of every epoch, on every machine. A checkpoint's seed counts more, as with
  // a random generator that is tracked.
  uint64_t seed = 0;
  // Off: each epoch has the elements in their own order.
  bool shuffle = true;
  // Leaves out the last batch of an epoch if it has fewer than batch_size elements.
  bool drop_last = false;
  // After these, next() throws. Unset: no limit.
  std::optional<int64_t> num_epochs = {};
};

// The order in which epochs visit elements 0 to size-1, and the position in it: what Epochs is
// without the data.
//
// Epoch e (from 1) visits the elements in the order that a Fisher-Yates shuffle makes of 0, 1, ...:
// for i = size-1 down to 1, element i is swapped with element below(i + 1). below(n) is the first
// output x of a SplitMix64 generator with x >= 2^64 mod n, taken mod n. The generator starts at
// mix(mix(seed) + e), where mix(s) is the first output of a SplitMix64 generator at s.
//
// Tracked, it takes a few numbers in a checkpoint: seed, epoch, position, size and whether it
// shuffles. The order is computed again.
class CROCHET_EXPORT EpochOrder {
 public:
  // Throws: InvalidArgumentError for a batch_size below 1 or a negative num_epochs.
  explicit EpochOrder(const EpochsOptions& options);

  // Begins the next batch, of an array of `size` elements, and returns the number of its elements.
  // An epoch is completed with the elements that it began with, also if the data has grown since;
  // the next one has all. Throws: OutOfRangeError after the last epoch, and InvalidArgumentError if
  // an epoch would have no batch, or if the data has shrunk in the middle of an epoch; then nothing
  // has changed.
  int64_t next_batch(int64_t size);
  // An element of the current batch. Requires: 0 <= i < what next_batch() returned.
  int64_t element(int64_t i) const {
    const int64_t place = batch_begin_ + i;
    return order_.empty() ? place : order_[static_cast<size_t>(place)];
  }

  // The epoch of the last batch, from 1; 0 before the first batch.
  int64_t number() const { return epoch_; }
  // Whether the last batch was the last one of its epoch.
  bool at_end() const;
  // The epochs that are complete.
  int64_t completed() const { return at_end() || epoch_ == 0 ? epoch_ : epoch_ - 1; }
  // The same with the fraction of the current one: 2.5 in the middle of epoch 3.
  double progress() const;

  // Throws: InvalidArgumentError, leaving it unchanged, for a state that is not one of this class.
  // A state from the middle of an epoch has its number of elements: next_batch() throws if there
  // are fewer now. A batch_size, drop_last or num_epochs that the program has changed counts from
  // the next batch, a changed shuffle from the next epoch.
  TensorMap save() const;
  void restore(const TensorMap& state);

 private:
  // Where a batch ends that begins at `position`; `position` itself if there is none.
  int64_t end_of_batch(int64_t position, int64_t size) const;
  void begin_epoch(int64_t size);
  // Makes the order of an epoch.
  void shuffle(int64_t epoch, int64_t size);

  EpochsOptions options_;
  bool shuffles_;               // As in the current epoch.
  int64_t epoch_ = 0;           // From 1; 0 before the first.
  int64_t position_ = 0;        // In the order: the elements before it were visited in this epoch.
  int64_t size_ = 0;            // Of the current epoch.
  int64_t grown_to_ = 0;        // The size of the data, if it has grown since the epoch began.
  int64_t batch_begin_ = 0;     // Of the last batch.
  std::vector<int64_t> order_;  // Of the current epoch; empty if it is not shuffled, or not known.
};

// Elements of an array, in the order of an epoch. Valid until the next one is made; requires that
// the Epochs it comes from and the data outlive it.
//
//   for (const Example& example : batch) ...
//   for (int64_t i = 0; i < batch.size(); ++i) use(batch[i], labels[batch.index(i)]);
template <typename Data>
class EpochBatch {
 public:
  EpochBatch(const EpochOrder& order, Data& data, int64_t size)
      : order_(&order), data_(&data), size_(size) {}

  int64_t size() const { return size_; }
  // The place of the batch's element `i` in the data.
  int64_t index(int64_t i) const { return order_->element(i); }
  // The element itself; if the data is only a number of elements, its place.
  decltype(auto) operator[](int64_t i) const {
    if constexpr (std::integral<Data>) {
      return index(i);
    } else {
      return (*data_)[static_cast<size_t>(index(i))];
    }
  }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using difference_type = std::ptrdiff_t;
    using value_type = std::remove_cvref_t<decltype(std::declval<const EpochBatch&>()[int64_t{}])>;

    Iterator() = default;
    Iterator(const EpochBatch& batch, int64_t i) : batch_(&batch), i_(i) {}
    decltype(auto) operator*() const { return (*batch_)[i_]; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    Iterator operator++(int) { return std::exchange(*this, Iterator(*batch_, i_ + 1)); }
    bool operator==(const Iterator& other) const { return i_ == other.i_; }

   private:
    const EpochBatch* batch_ = nullptr;
    int64_t i_ = 0;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }

 private:
  const EpochOrder* order_;
  Data* data_;
  int64_t size_;
};

// The batches of an Epochs, or of what has next() and at_end() like it, from the next one to the
// last one of its epoch. Each is made when the program's loop comes to it.
template <typename Source>
class RestOfEpoch {
 public:
  using Batch = decltype(std::declval<Source&>().next());

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using difference_type = std::ptrdiff_t;
    using value_type = Batch;

    explicit Iterator(Source& source) : source_(&source), batch_(source.next()) {}
    Batch& operator*() { return *batch_; }
    Iterator& operator++() {
      batch_.reset();
      if (!source_->at_end()) batch_.emplace(source_->next());
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return !batch_; }

   private:
    Source* source_;
    std::optional<Batch> batch_;
  };

  explicit RestOfEpoch(Source& source) : source_(&source) {}
  // Throws: as next().
  Iterator begin() const { return Iterator(*source_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  Source* source_;
};

namespace internal {

template <typename T>
concept HasElements = requires(T& data) {
  data.size();
  data[size_t{}];
};

}  // namespace internal

// Batches of data, epoch after epoch, each in a new random order, which resume exactly where a
// checkpoint was saved, in the middle of an epoch too:
//
//   Epochs epochs(examples, {.batch_size = 32, .seed = 1});
//   loop.track("epochs", epochs);
//   loop.run([&] {
//     const auto batch = epochs.next();
//     for (const Example& example : batch) ...
//   });
//
// The data is anything with size() and operator[], or the number of its elements: then a batch has
// their places. It is not copied, and must outlive this.
//
// A loop that tracks it, itself or as a part, has a value and curve "epoch" (progress()), and a
// report with the epochs. If it tracks several, that is the one that is tracked first.
// Not thread-safe.
template <typename Data>
class Epochs : public EpochOrder {
  using Stored = std::conditional_t<std::integral<Data>, Data, Data&>;

 public:
  // Requires: the data outlives this; a number of elements is copied.
  explicit Epochs(Stored data, const EpochsOptions& options = {})
      : EpochOrder(options), data_(data) {}

  // The next batch, which may be the first one of the next epoch. Throws: as next_batch(), before
  // it changes anything: an OutOfRangeError ends a loop's run cleanly.
  EpochBatch<Data> next() { return {*this, data_, next_batch(num_elements())}; }
  // For a loop of the program's own. After the end of an epoch these are the batches of the next
  // one, and after a restore in the middle of an epoch those that are left:
  //
  //   while (epochs.completed() < 10)
  //     for (const auto& batch : epochs.rest_of_epoch()) ...
  RestOfEpoch<Epochs> rest_of_epoch() { return RestOfEpoch<Epochs>(*this); }

 private:
  int64_t num_elements() const {
    if constexpr (std::integral<Data>) {
      return static_cast<int64_t>(data_);
    } else {
      return static_cast<int64_t>(data_.size());
    }
  }

  Stored data_;
};

template <internal::HasElements Data>
Epochs(Data&, const EpochsOptions& = {}) -> Epochs<Data>;
template <std::integral Number>
Epochs(Number, const EpochsOptions& = {}) -> Epochs<Number>;

}  // namespace crochet::inline v0
