// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tracking/epochs.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/base/internal/mix_bits.h"
#include "crochet/base/log.h"

namespace crochet::inline v0 {
namespace {

// Small, and the same everywhere.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t start) : state_(start) {}

  uint64_t operator()() { return internal::mix_bits(state_ += 0x9e3779b97f4a7c15); }

  // A number below `bound`, each as likely as the others: the numbers below 2^64 mod `bound` are
  // drawn again.
  uint64_t below(uint64_t bound) {
    for (;;) {
      const uint64_t number = (*this)();
      if (number >= bound || number >= (0 - bound) % bound) return number % bound;
    }
  }

 private:
  uint64_t state_;
};

uint64_t mix(uint64_t number) { return SplitMix64(number)(); }

template <typename T>
T read(const TensorMap& state, const char* key) {
  const auto found = state.find(key);
  if (found == state.end())
    throw InvalidArgumentError(fmt::format("the state of Epochs lacks \"{}\"", key));
  return single_value({{"", found->second}}, dtype_of<T>).template scalar<T>();
}

}  // namespace

EpochOrder::EpochOrder(const EpochsOptions& options)
    : options_(options), shuffles_(options.shuffle) {
  internal::check_at_least("Epochs: batch_size", options_.batch_size, 1);
  internal::check_at_least("Epochs: num_epochs", options_.num_epochs, 0);
}

int64_t EpochOrder::end_of_batch(int64_t position, int64_t size) const {
  const int64_t left = size - position;
  if (left >= options_.batch_size) return position + options_.batch_size;
  return options_.drop_last ? position : size;
}

bool EpochOrder::at_end() const {
  return epoch_ > 0 && end_of_batch(position_, size_) == position_;
}

double EpochOrder::progress() const {
  if (epoch_ == 0 || at_end()) return static_cast<double>(epoch_);
  return static_cast<double>(epoch_ - 1) +
         static_cast<double>(position_) / static_cast<double>(size_);
}

int64_t EpochOrder::next_batch(int64_t size) {
  if (epoch_ == 0 || at_end()) {
    begin_epoch(size);
  } else if (size != size_ && position_ == 0) {
    --epoch_;  // It has not visited anything: it begins with the data that there is.
    begin_epoch(size);
  } else if (size < size_) {
    throw InvalidArgumentError(fmt::format(
        "Epochs: the data has {} elements, expected at least {}, as at the beginning of epoch {}, "
        "of which {} elements are visited; to begin this epoch again with the data as it is, start "
        "once with .restore = {{.keep = {{\"<name of the Epochs>/position\"}}}}",
        size, size_, epoch_, position_));
  } else if (shuffles_ && order_.empty()) {  // It was restored.
    shuffle(epoch_, size_);
  }
  if (size > size_ && size != grown_to_) {
    grown_to_ = size;
    log_info(
        fmt::format("Epochs: the data has grown from {} to {} elements: epoch {} is completed "
                    "with those that it began with, the next one has all",
                    size_, size, epoch_));
  }
  batch_begin_ = position_;
  position_ = end_of_batch(position_, size_);
  return position_ - batch_begin_;
}

void EpochOrder::begin_epoch(int64_t size) {
  if (options_.num_epochs && epoch_ >= *options_.num_epochs)
    throw OutOfRangeError(
        fmt::format("Epochs: {} of {} epochs are complete", epoch_, *options_.num_epochs));
  if (size <= 0 || end_of_batch(0, size) == 0)
    throw InvalidArgumentError(
        fmt::format("Epochs: {} elements make no batch of {}{}", size, options_.batch_size,
                    options_.drop_last ? ", and drop_last leaves out smaller ones" : ""));
  if (options_.shuffle)
    shuffle(epoch_ + 1, size);
  else
    order_.clear();
  shuffles_ = options_.shuffle;
  ++epoch_;
  size_ = size;
  position_ = 0;
}

void EpochOrder::shuffle(int64_t epoch, int64_t size) {
  order_.resize(static_cast<size_t>(size));
  std::iota(order_.begin(), order_.end(), int64_t{0});
  SplitMix64 random(mix(mix(options_.seed) + static_cast<uint64_t>(epoch)));
  for (size_t i = order_.size() - 1; i > 0; --i) std::swap(order_[i], order_[random.below(i + 1)]);
}

TensorMap EpochOrder::save() const {
  return {{"seed", Tensor::scalar(options_.seed)},
          {"epoch", Tensor::scalar(epoch_)},
          {"position", Tensor::scalar(position_)},
          {"size", Tensor::scalar(size_)},
          {"shuffle", Tensor::scalar(shuffles_)}};
}

void EpochOrder::restore(const TensorMap& state) {
  const auto seed = read<uint64_t>(state, "seed");
  const auto epoch = read<int64_t>(state, "epoch");
  const auto position = read<int64_t>(state, "position");
  const auto size = read<int64_t>(state, "size");
  const auto shuffles = read<bool>(state, "shuffle");
  constexpr int64_t kMost = int64_t{1} << 60;  // As for steps.
  if (epoch < 0 || epoch > kMost || size < 0 || size > kMost || position < 0 || position > size ||
      (epoch == 0) != (size == 0))
    throw InvalidArgumentError(fmt::format(
        "the state of Epochs is impossible: epoch {}, position {} of {}", epoch, position, size));
  if (seed != options_.seed)
    log_warning(
        fmt::format("Epochs: the checkpoint's seed {} replaces {}, which the program has; "
                    ".restore = {{.keep = {{\"<name of the Epochs>/seed\"}}}} keeps it",
                    seed, options_.seed));
  options_.seed = seed;
  epoch_ = epoch;
  position_ = batch_begin_ = position;
  size_ = size;
  shuffles_ = shuffles;
  order_.clear();
}

}  // namespace crochet::inline v0
