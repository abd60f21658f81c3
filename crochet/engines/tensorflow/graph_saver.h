// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>

#include "crochet/engines/tensorflow/graph.h"
#include "crochet/session/state_operations.h"

namespace crochet::tensorflow {

// The operations that Python's tf.compat.v1.train.Saver added to a graph. An imported graph that
// has a saver has one of these attached, and crochet's Saver runs it in a cluster, or where it is
// told to (SaverOptions::writer).
//
//   train({.graph = graph, .master = server.target(), .checkpoint_dir = "/shared/digits"}, body);
//
// A sharded saver's operations write and read where the variables are, each device its part: all
// machines must see the directory under one path. A relative one is that of this process.
//
// Not thread-safe.
class GraphSaver final : public StateOperations {
 public:
  // Runs the saver of the file (saver_def), or the only one in the collection "savers". `graph` is
  // not owned and outlives this.
  explicit GraphSaver(Graph& graph);
  // Runs this one, of several in definition().savers say.
  GraphSaver(Graph& graph, SaverDef definition);

  // In every session but one of this process alone, unless save() would throw for what the saver
  // is: then there is a warning, once.
  bool preferred_for(const crochet::Session& session) const override;
  // Throws: as save().
  bool saves(std::string_view variable) const override;
  // False if a function writes, as in a model of TensorFlow 2. Throws: as save().
  bool knows_names() const override;
  // True if what is saved is computed from it. Throws: as save().
  bool saves_state(std::string_view name) const override;
  // Throws besides what the session throws: FailedPreconditionError if there is no such saver, or
  // several; UnimplementedError for one that writes the V1 format; NotFoundError and
  // InvalidArgumentError if it names what the graph does not have, or what is no file name.
  void save(crochet::Session& session, const std::string& prefix) override;

  // Throws: as save().
  const SaverDef& definition() const;

 private:
  // TensorFlow's operations give a variable whatever shape the file has. Nobody calls this on a
  // GraphSaver: a Saver restores by it, which compares names, types and shapes first.
  void restore(crochet::Session& session, const std::string& prefix) override;
  void read() const;

  Graph& graph_;  // Not owned; outlives this.
  // Found when they are needed: a graph whose saver is of no use is still one to be trained.
  mutable std::optional<SaverDef> definition_;
  mutable bool is_checked_ = false;
  mutable bool is_useless_ = false;
  mutable std::optional<std::set<std::string, std::less<>>> names_;  // Unset: all that there are.
  mutable std::unordered_set<TF_Operation*> sources_;                // Of the values.
};

}  // namespace crochet::tensorflow
