// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0 {
class Session;
}  // namespace crochet::inline v0

namespace crochet::inline v0::internal {

// A graph's own operations to save and restore its state: they write and read a checkpoint in
// TensorFlow's V2 format (a tensor bundle), each on the machine where it runs.
//
// An engine attaches them to its graph (Graph::attach); if several are attached, the last one
// is used. A saver runs them if its options require it, or if preferred_for() returns true. The
// saver chooses the names of the files, records them in the state file, and checks names, types
// and shapes before it restores.
//
// Called from one thread at a time, on the training thread, as the sessions' runs are.
class CROCHET_EXPORT StateOperations {
 public:
  virtual ~StateOperations() = default;

  // True if there is no moment between two steps of all processes that change the variables, so
  // that a snapshot would not be of one step either: in a cluster.
  virtual bool preferred_for(const Session& session) const = 0;
  // True if they save this variable.
  virtual bool saves(std::string_view variable) const = 0;
  // True if the names of everything they save are known, so that a checkpoint can be compared with
  // the graph before it is restored. If not, a saver runs them only if its options require it.
  virtual bool knows_names() const { return true; }
  // True if they save this state, a variable or one of Graph::other_state(), under whatever name.
  virtual bool saves_state(std::string_view name) const { return saves(name); }

  // Returns once the files of `prefix` are written, but not synced. Each variable has the value
  // that it had when it was read. Throws: as Session::run_into.
  virtual void save(Session& session, const std::string& prefix) = 0;
  // Restores what save() wrote. Throws: as Session::run_into.
  // Requires: the checkpoint has each variable, with its type and shape.
  virtual void restore(Session& session, const std::string& prefix) = 0;
};

}  // namespace crochet::inline v0::internal
