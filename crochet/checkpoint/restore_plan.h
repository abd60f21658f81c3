// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "crochet/checkpoint/checkpoint_reader.h"
#include "crochet/session/session.h"

namespace crochet {

// How the tensors of one checkpoint become the state of one graph. Making the
// plan checks all names, types and shapes; executing it reads and overwrites.
class RestorePlan {
 public:
  // Throws: InvalidArgumentError that lists all that does not fit.
  // Requires: the graph and the reader outlive this.
  RestorePlan(const Graph& graph, const CheckpointReader& reader);

  // Throws: DataLossError from reading.
  void execute(Session& session) const;

 private:
  struct ObjectPart {
    const RegisteredSaveable* object;
    std::vector<std::pair<std::string, std::string>> keys;  // Key of the object, name in the file.
  };

  void plan_variables(const Graph& graph);
  void plan_objects(const Graph& graph);
  void find_surplus();
  // The entry that the program takes over from the checkpoint.
  void claim(const std::string& name);

  const CheckpointReader& reader_;
  std::vector<Assignment> assignments_;
  std::vector<ObjectPart> objects_;
  std::vector<std::string> claimed_;
  std::vector<std::string> problems_;
};

// Prefixes that a directory may be restored from, the best last: the checkpoints
// "<basename>-<step>" whose index is there, by step, whether the state file names them or not.
// Throws: DataLossError if the state file names a checkpoint and none is there;
// FailedPreconditionError if there are only checkpoints of other names.
std::vector<std::string> checkpoint_candidates(FileSystem& files, const std::string& directory,
                                               const std::string& basename);

}  // namespace crochet
