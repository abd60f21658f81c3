// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "crochet/libtorch/internal/module_modes.h"
#include "crochet/libtorch/internal/named_tensors.h"
#include "crochet/libtorch/internal/parameter_names.h"
#include "crochet/libtorch/track.h"
#include "crochet/tracking/tracker.h"

namespace crochet::inline v0::internal {
struct RestorePurpose;
}  // namespace crochet::inline v0::internal

namespace crochet::inline v0::libtorch::internal {

// A module, as far as its state knows it.
struct ModuleParts {
  // As they are now.
  std::function<std::vector<NamedTensor>()> parameters;
  std::function<std::vector<NamedTensor>()> buffers;
  // Throws: FailedPreconditionError if the module does not compute with them. May be empty.
  std::function<void()> check = {};
  std::vector<ModuleMode> modes = {};
  bool saves_gradients = true;
};

// The state of a module, as parts of a tracker: its parameters and buffers, whichever they are at a
// save, and for a training their gradients and modes.
class ModuleState {
 public:
  // Adds the parts at `tracker`.
  static void track(Tracker& tracker, ModuleParts parts);

 private:
  ModuleState(const Tracker& tracker, ModuleParts parts);

  void list(Tracker& here) const;
  std::vector<StatePart> plan(const StoredParts& stored) const;
  void make(const StoredParts& stored, const StoredParts& read) const;

  void list_gradients(Tracker& here) const;
  void make_gradient(const NamedTensor& parameter, const StoredParts& stored,
                     const StoredParts& read) const;
  std::string full_name(const std::string& name) const;

  const std::string name_;
  const ModuleParts parts_;
  const std::shared_ptr<ParameterNames> names_;
  const std::shared_ptr<OperatorBarrier> barrier_;
  const std::shared_ptr<const crochet::internal::RestorePurpose> purpose_;
  // Names of tensors whose size changed, in the restore that is being made.
  mutable std::vector<std::string> read_marks_;
};

}  // namespace crochet::inline v0::libtorch::internal
