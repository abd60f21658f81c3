// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace crochet::internal {

// What retention must do, in its plainest form and without a file: the oracle of a test.
class RetentionModel {
 public:
  struct Rules {
    int newest = 1;
    int best = 0;             // By the least loss; 0 is off.
    int64_t every_steps = 0;  // 0 is off.
    double every_secs = 0;    // 0 is off.
  };
  struct Checkpoint {
    int64_t step = 0;
    double time = 0;
    std::optional<double> loss = {};
    bool pinned = false;
    bool published = true;  // Its sidecar is as its saver wrote it.
    bool verified = false;

    bool is_sound() const { return published || verified; }
  };

  explicit RetentionModel(const Rules& rules) : rules_(rules) {}

  // A checkpoint was published, and all that is to go has gone.
  void save(const Checkpoint& added);
  // A save was cut short: these are on disk. False if that cannot be.
  bool save_in_part(const Checkpoint& added, const std::set<int64_t>& on_disk);
  // It was damaged and put aside.
  void remove(int64_t step);

  std::set<int64_t> steps() const;
  // Null for one that is not listed.
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
  int64_t mark_step_ = 0;  // Of the one preserved last.
  double mark_time_ = 0;
};

}  // namespace crochet::internal
