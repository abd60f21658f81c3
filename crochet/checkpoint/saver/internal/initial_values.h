// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/session/graph.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::internal {

// The settings among a program's state: numbers, texts and random generators, as the program
// initializes them before the first restore.
//
// A restore replaces them, whether training has changed them or the program has. To tell these
// apart, sidecars record what the run began with. A start that begins with something else logs
// that, and records its own values in turn: so each change is reported once.
//
// Recorded are at most 4 KiB: the values that are added first. A text or a generator counts as its
// digest.
//
// Not thread-safe.
class CROCHET_EXPORT InitialValues {
 public:
  using Texts = std::map<std::string, std::string>;  // By name.
  static constexpr size_t kMaxBytes = 4096;

  // Those of a graph.
  static InitialValues& of(Graph& graph);
  // Null if it has none.
  static std::shared_ptr<InitialValues> find(const Graph& graph);

  // `read` returns the present value.
  void add(std::string name, std::function<Tensor()> read);

  // The values before the first restore. Requires: called before each restore; the first call reads
  // them.
  const Texts& at_start();
  // After the first restore of a run's own checkpoint, of which `recorded` are the values with
  // which its run began: a line for the log, or "" if there is nothing to report. Values that
  // `keep` matches are not reported, as the program's own count.
  std::string first_differences(const Texts& recorded, const NamePatterns& keep);

 private:
  Texts read() const;

  std::map<std::string, std::function<Tensor()>> readers_;
  size_t num_name_bytes_ = 0;
  std::optional<Texts> at_start_;
  bool has_compared_ = false;
};

}  // namespace crochet::inline v0::internal
