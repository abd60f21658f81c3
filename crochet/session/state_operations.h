// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace crochet {

class Session;

// What a graph brings along to save and restore itself: operations that write and read a
// checkpoint of TensorFlow's V2 format (a tensor bundle), each on the machine where it runs.
//
// An engine attaches them to its graph (Graph::attach); of several, those that were attached last
// count. A saver runs them where its options say so, or where they say that they are the better
// way. It is for the saver to give the files their name, to name them in the state file, and to
// check names, types and shapes before it restores.
//
// Called from one thread at a time, as the sessions' runs are: on the training thread.
class StateOperations {
 public:
  virtual ~StateOperations() = default;

  // True where no moment is between two steps of all who change the variables, so that no snapshot
  // is of one step either: in a cluster.
  virtual bool preferred_for(const Session& session) const = 0;
  // True if the variable is among what they save.
  virtual bool saves(std::string_view variable) const = 0;
  // True if the names of all that they save are known, so that a checkpoint can be compared with
  // the graph before it is restored. If not, a saver runs them only where its options say so.
  virtual bool knows_names() const { return true; }
  // True if they save this state, a variable or one of Graph::other_state(), under whatever name.
  virtual bool saves_state(std::string_view name) const { return saves(name); }

  // Returns once the files of `prefix` are written; nobody has synced them. Each variable has the
  // value that it had when it was read. Throws: as Session::run_into.
  virtual void save(Session& session, const std::string& prefix) = 0;
  // Takes over what save() wrote. Throws: as Session::run_into.
  // Requires: the checkpoint has each variable, with its type and shape.
  virtual void restore(Session& session, const std::string& prefix) = 0;
};

}  // namespace crochet
