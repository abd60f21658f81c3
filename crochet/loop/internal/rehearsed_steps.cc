// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/internal/rehearsed_steps.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/log_lazily.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/internal/checkpoint_directory.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {
namespace {

// The checkpoints of a rehearsal.
class Checkpoints {
 public:
  Checkpoints(Session& session, FileSystem& files, const RehearsedSteps& steps)
      : session_(session),
        files_(files),
        prefix_(steps.prefix),
        when_restored_(steps.when_restored),
        saver_({.max_to_keep = 0,
                .latest_filename = std::string(base_name(prefix_)),
                .allow_empty = true,
                .files = &files}) {}
  ~Checkpoints() {
    const auto what = [] { return "removing the checkpoints of a rehearsal"; };
    try_or_log(what, [&] {
      CheckpointDirectory::to_save_in(files_, directory_of(prefix_))
          .remove({prefix_ + kStart, prefix_ + kStraight, prefix_ + kResumed});
    });
    try_or_log(what, [&] {
      if (files_.exists(prefix_)) files_.remove(prefix_);
    });
  }
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  // Numbered, as the checkpoints are that have copies of files.
  static constexpr const char* kStart = "-0";
  static constexpr const char* kStraight = "-1";
  static constexpr const char* kResumed = "-2";

  void save(const char* name) { saver_.save(session_, prefix_ + name); }
  void restore(const char* name) {
    saver_.restore(session_, prefix_ + name);
    when_restored_();
  }
  CheckpointReader read(const char* name) const { return CheckpointReader(prefix_ + name, files_); }

 private:
  Session& session_;
  FileSystem& files_;
  const std::string prefix_;
  const std::function<void()>& when_restored_;
  Saver saver_;
};

// Which element of two tensors of one type and shape differs first.
std::string first_difference(const Tensor& a, const Tensor& b) {
  if (a.num_elements() == 1) return fmt::format("{} and {}", describe(a), describe(b));
  size_t index = 0;
  if (a.dtype() == DType::kString) {
    index = std::ranges::mismatch(a.strings(), b.strings()).in1 - a.strings().begin();
  } else {
    const size_t byte = std::ranges::mismatch(a.bytes(), b.bytes()).in1 - a.bytes().begin();
    index = byte / element_size(a.dtype());
  }
  return fmt::format("its element {} of {}", index, a.num_elements());
}

// Empty if both checkpoints are the same.
std::string difference(const CheckpointReader& straight, const CheckpointReader& resumed) {
  for (const auto& [name, info] : straight.tensors()) {
    if (!resumed.contains(name)) return fmt::format("\"{}\" is missing", name);
    const Tensor a = straight.read(name);
    const Tensor b = resumed.read(name);
    if (a == b) continue;
    if (a.dtype() != b.dtype() || a.shape() != b.shape())
      return fmt::format("\"{}\" differs: {} and {}", name, describe(a), describe(b));
    return fmt::format("\"{}\" differs: {}", name, first_difference(a, b));
  }
  for (const auto& [name, info] : resumed.tensors())
    if (!straight.contains(name)) return fmt::format("\"{}\" is surplus", name);
  return "";
}

void make(const RehearsedSteps& steps) {
  for (int64_t i = 0; i < steps.num_steps; ++i)
    if (!steps.make_step()) return;
}

// Throws: FailedPreconditionError if the results differ.
void make_twice(Checkpoints& checkpoints, const RehearsedSteps& steps) {
  make(steps);
  checkpoints.save(Checkpoints::kStraight);
  checkpoints.restore(Checkpoints::kStart);
  make(steps);
  checkpoints.save(Checkpoints::kResumed);
  const std::string found =
      difference(checkpoints.read(Checkpoints::kStraight), checkpoints.read(Checkpoints::kResumed));
  if (!found.empty())
    throw FailedPreconditionError(fmt::format(
        "the rehearsal failed: {} after {} steps, if the state is saved and restored before them: "
        "the steps use something that is not tracked, or give other results each time",
        found, steps.num_steps));
}

}  // namespace

void rehearse(Session& session, FileSystem& files, const RehearsedSteps& steps) {
  Checkpoints checkpoints(session, files, steps);
  checkpoints.save(Checkpoints::kStart);
  try {
    make_twice(checkpoints, steps);
  } catch (...) {
    try_or_log([] { return "restoring the state before the rehearsal"; },
               [&] { checkpoints.restore(Checkpoints::kStart); });
    throw;
  }
  checkpoints.restore(Checkpoints::kStart);
  log_info(fmt::format("rehearsed {} steps: they continue from a checkpoint to the same bits",
                       steps.num_steps));
}

}  // namespace crochet::inline v0::internal
