// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/io/file_system.h"
#include "crochet/tracking/tracker.h"

namespace crochet::inline v0 {

// A value and the name under which a Loop tracks it. Requires: the value outlives this.
class CROCHET_EXPORT TrackedValue {
 public:
  template <typename T>
  requires(!internal::TrackedReference<T>) TrackedValue(std::string name, T& value)
      : track_([name = std::move(name), &value](Tracker& tracker) { tracker(name, value); }) {}
  // For sharded(value, ...), fixed(value) and the like.
  template <internal::TrackedReference T>
  TrackedValue(std::string name, T value)
      : track_([name = std::move(name), value = std::move(value)](Tracker& tracker) {
          tracker(name, T(value));
        }) {}

  void track(Tracker& tracker) const { track_(tracker); }

 private:
  std::function<void(Tracker& tracker)> track_;
};

// As below, from `options.from`. What the checkpoint has in addition is ignored in any case.
CROCHET_EXPORT RestoreReport load(const RestoreOptions& options,
                                  std::initializer_list<TrackedValue> values,
                                  FileSystem* files = nullptr);

// Restores values, all or some of those that a Loop saved, without a loop: for inference and tests.
//
//   Perceptron model(64, 128, 10);
//   crochet::load("runs/digits", CheckpointChoice::best("accuracy"), {{"model", model}});
//
// `path` is a directory, or one of the checkpoints in it, also one of TensorFlow's, a safetensors
// file, or a file of torch.save() or TorchScript. Takes no lock and writes nothing: a run may save
// there meanwhile.
//
// Throws: NotFoundError or InvalidArgumentError if there is no such checkpoint, or if it lacks a
// value or has one of another type or shape: then nothing is changed. DataLossError for a damaged
// one.
//
// (Templates, since braces could mean a path as well as options.)
template <std::convertible_to<std::string> Path>
RestoreReport load(const Path& path, const CheckpointChoice& which,
                   std::initializer_list<TrackedValue> values, FileSystem* files = nullptr) {
  return load(RestoreOptions{.from = path, .which = which}, values, files);
}
template <std::convertible_to<std::string> Path>
RestoreReport load(const Path& path, std::initializer_list<TrackedValue> values,
                   FileSystem* files = nullptr) {
  return load(path, CheckpointChoice::newest(), values, files);
}

}  // namespace crochet::inline v0
