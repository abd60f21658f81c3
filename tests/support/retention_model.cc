// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/retention_model.h"

#include <algorithm>
#include <cmath>

namespace crochet::inline v0::internal {

size_t RetentionModel::num_newer(size_t i) const {
  return static_cast<size_t>(
      std::count_if(listed_.begin() + static_cast<ptrdiff_t>(i) + 1, listed_.end(),
                    [](const Checkpoint& checkpoint) { return checkpoint.is_sound(); }));
}

bool RetentionModel::is_among_newest(size_t i) const {
  return num_newer(i) < static_cast<size_t>(rules_.newest);
}

bool RetentionModel::is_among_best(const Checkpoint& checkpoint) const {
  const auto has_loss = [](const Checkpoint& one) { return one.loss && !std::isnan(*one.loss); };
  if (!has_loss(checkpoint)) return false;
  return std::ranges::count_if(listed_, [&](const Checkpoint& rival) {
           return has_loss(rival) && rival.is_sound() && *rival.loss < *checkpoint.loss;
         }) < rules_.best;
}

bool RetentionModel::is_to_be_preserved(const Checkpoint& checkpoint) const {
  const bool by_steps = rules_.every_steps > 0 &&
                        checkpoint.step / rules_.every_steps > mark_step_ / rules_.every_steps;
  const bool by_time = rules_.every_secs > 0 && checkpoint.time - rules_.every_secs >= mark_time_;
  return by_steps || by_time;
}

void RetentionModel::preserve() {
  std::vector<Checkpoint> left;
  for (size_t i = 0; i < listed_.size(); ++i) {
    const Checkpoint& checkpoint = listed_[i];
    if (is_among_newest(i) || !is_to_be_preserved(checkpoint)) {
      left.push_back(checkpoint);
      continue;
    }
    mark_step_ = checkpoint.step;
    mark_time_ = checkpoint.time;
    forever_.insert(checkpoint.step);
  }
  listed_ = left;
}

void RetentionModel::let_go() {
  std::vector<Checkpoint> left;
  for (size_t i = 0; i < listed_.size(); ++i) {
    const Checkpoint& checkpoint = listed_[i];
    if (is_among_newest(i) || checkpoint.pinned || is_among_best(checkpoint))
      left.push_back(checkpoint);
    else if (!checkpoint.published)
      forever_.insert(checkpoint.step);
  }
  listed_ = left;
}

void RetentionModel::save(const Checkpoint& added) {
  listed_.push_back(added);
  preserve();
  let_go();
}

bool RetentionModel::save_in_part(const Checkpoint& added, const std::set<int64_t>& on_disk) {
  const std::set<int64_t> before = steps();
  if (!on_disk.contains(added.step)) return on_disk == before;
  const std::vector<Checkpoint> old = listed_;
  save(added);
  const std::set<int64_t> after = steps();
  if (!std::ranges::includes(on_disk, after)) return false;
  std::vector<Checkpoint> still_there;
  for (const Checkpoint& checkpoint : old)
    if (on_disk.contains(checkpoint.step) && !after.contains(checkpoint.step))
      still_there.push_back(checkpoint);
  listed_.insert(listed_.begin(), still_there.begin(), still_there.end());
  return steps() == on_disk;
}

void RetentionModel::remove(int64_t step) {
  std::erase_if(listed_, [&](const Checkpoint& checkpoint) { return checkpoint.step == step; });
  forever_.erase(step);
}

std::set<int64_t> RetentionModel::steps() const {
  std::set<int64_t> steps = forever_;
  for (const Checkpoint& checkpoint : listed_) steps.insert(checkpoint.step);
  return steps;
}

RetentionModel::Checkpoint* RetentionModel::find(int64_t step) {
  for (Checkpoint& checkpoint : listed_)
    if (checkpoint.step == step) return &checkpoint;
  return nullptr;
}

}  // namespace crochet::inline v0::internal
