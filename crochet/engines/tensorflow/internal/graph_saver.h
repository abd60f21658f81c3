// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>

#include "crochet/base/internal/export.h"
#include "crochet/engines/tensorflow/graph.h"
#include "crochet/session/internal/state_operations.h"

namespace crochet::inline v0::tensorflow::internal {

// The operations that Python's tf.compat.v1.train.Saver added to a graph. An imported graph that
// has a saver has one of these attached, and crochet's Saver runs it in a cluster, or if
// SaverOptions::writer requests it.
//
//   train({.graph = graph, .master = server.target(), .checkpoint_dir = "/shared/digits"}, body);
//
// A sharded saver's operations write and read on the variables' devices, each its part: all
// machines must see the directory under the same path. A relative path is resolved in this process.
//
// Not thread-safe.
class CROCHET_EXPORT GraphSaver final : public crochet::internal::StateOperations {
 public:
  // Runs the saver of the file (saver_def), or the only one in the collection "savers". `graph` is
  // not owned and outlives this.
  explicit GraphSaver(Graph& graph);
  // Runs this one, for example one of several in definition().savers.
  GraphSaver(Graph& graph, SaverDef definition);

  // True in every session except one of this process alone, unless save() would throw because of
  // the saver itself: then a warning is logged, once.
  bool preferred_for(const crochet::Session& session) const override;
  // Throws: as save() does.
  bool saves(std::string_view variable) const override;
  // False if a function writes, as in a model of TensorFlow 2. Throws: as save() does.
  bool knows_names() const override;
  // True if a saved value is computed from it. Throws: as save() does.
  bool saves_state(std::string_view name) const override;
  // Throws: what the session throws; FailedPreconditionError if there is no such saver, or
  // several; UnimplementedError for one that writes the V1 format; NotFoundError and
  // InvalidArgumentError if it names something that the graph lacks, or an invalid file name.
  void save(crochet::Session& session, const std::string& prefix) override;

  // Throws: as save() does.
  const SaverDef& definition() const;

 private:
  // TensorFlow's operations give a variable whatever shape the file has. Not to be called directly:
  // a Saver calls it after comparing names, types and shapes.
  void restore(crochet::Session& session, const std::string& prefix) override;
  void read() const;

  Graph& graph_;  // Not owned; outlives this.
  // Read on demand: a graph whose saver is unusable can still be trained.
  mutable std::optional<SaverDef> definition_;
  mutable bool is_checked_ = false;
  mutable bool is_useless_ = false;
  mutable std::optional<std::set<std::string, std::less<>>> names_;  // Unset: all names.
  mutable std::unordered_set<TF_Operation*> sources_;                // Of the saved values.
};

}  // namespace crochet::inline v0::tensorflow::internal
