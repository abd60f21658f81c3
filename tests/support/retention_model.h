// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace crochet::inline v0::internal {

// A simple model of retention without files: the oracle of a test.
class RetentionModel {
 public:
  struct Rules {
    int newest = 1;
    int best = 0;             // By lowest loss; 0 is off.
    int64_t every_steps = 0;  // 0 is off.
    double every_secs = 0;    // 0 is off.
  };
  struct Checkpoint {
    int64_t step = 0;
    double time = 0;
    std::optional<double> loss = {};
    bool pinned = false;
    bool published = true;  // Its sidecar is unchanged since its saver wrote it.
    bool verified = false;

    bool is_sound() const { return published || verified; }
  };

  explicit RetentionModel(const Rules& rules) : rules_(rules) {}

  // A checkpoint was published, and all checkpoints to be removed are removed.
  void save(const Checkpoint& added);
  // A save was interrupted and left these on disk. False if that is impossible.
  bool save_in_part(const Checkpoint& added, const std::set<int64_t>& on_disk);
  // The checkpoint was damaged and set aside.
  void remove(int64_t step);

  std::set<int64_t> steps() const;
  // Null if it is not listed.
  Checkpoint* find(int64_t step);
  std::vector<Checkpoint>& listed() { return listed_; }
  double mark_time() const { return mark_time_; }
  void set_mark_time(double time) { mark_time_ = time; }

 private:
  size_t num_newer(size_t i) const;
  bool is_among_newest(size_t i) const;
  bool is_among_best(const Checkpoint& checkpoint) const;
  bool is_to_be_preserved(const Checkpoint& checkpoint) const;
  void preserve();
  void let_go();

  Rules rules_;
  std::vector<Checkpoint> listed_;  // Oldest first.
  std::set<int64_t> forever_;
  int64_t mark_step_ = 0;  // Of the last preserved checkpoint.
  double mark_time_ = 0;
};

}  // namespace crochet::inline v0::internal
