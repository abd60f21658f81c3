// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <torch/types.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/class_name.h"
#include "crochet/base/log.h"
#include "crochet/libtorch/internal/foreign_optimizer.h"
#include "crochet/libtorch/internal/known_optimizer.h"
#include "crochet/libtorch/internal/optimizer_fields.h"
#include "crochet/libtorch/track.h"

namespace crochet::inline v0 {
namespace libtorch {
namespace {

void warn_of_duplicates(const torch::optim::Optimizer& optimizer, const std::string& name) {
  std::set<const at::TensorImpl*> known;
  size_t place = 0;
  for (const auto& group : optimizer.param_groups())
    for (const at::Tensor& parameter : group.params()) {
      if (!known.insert(parameter.unsafeGetTensorImpl()).second)
        log_warning(fmt::format(
            "optimizer \"{}\" has parameter {} twice, and changes it twice in each step: "
            "LibTorch's "
            "parameters() has a tensor that two modules share once for each; pass it only once",
            name, place));
      ++place;
    }
}

}  // namespace

void track_base(Tracker& tracker, torch::optim::Optimizer& optimizer) {
  warn_of_duplicates(optimizer, tracker.name());
  if (std::shared_ptr<const libtorch::internal::OptimizerFields> fields =
          libtorch::internal::OptimizerFields::of_base(optimizer))
    return libtorch::internal::track_known(tracker, optimizer, std::move(fields));
  libtorch::internal::track_foreign_optimizer(tracker, optimizer);
}

}  // namespace libtorch

void track(Tracker& tracker, torch::optim::Optimizer& optimizer) {
  using libtorch::internal::OptimizerFields;
  const auto base = libtorch::internal::OptimizerFields::of_base(optimizer);
  if (base && !libtorch::internal::OptimizerFields::of(optimizer))
    throw InvalidArgumentError(fmt::format(
        "optimizer \"{0}\": the class {1} is derived from {2}, and may have more state: give it "
        "`void track(crochet::Tracker& tracker)`, which calls "
        "crochet::libtorch::track_base(tracker, "
        "*this) for the state of {2} and tracker(\"name\", member) for each member that changes, "
        "and "
        "track it as {1}, not as Optimizer",
        tracker.name(), crochet::internal::class_name_of(optimizer, "of this optimizer"),
        base->name()));
  libtorch::track_base(tracker, optimizer);
}

}  // namespace crochet::inline v0
