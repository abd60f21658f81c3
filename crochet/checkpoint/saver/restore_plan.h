// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/checkpoint/file/checkpoint_pass.h"
#include "crochet/checkpoint/file/checkpoint_reader.h"
#include "crochet/checkpoint/saver/restore_report.h"
#include "crochet/checkpoint/saver/variable_selection.h"
#include "crochet/session/session.h"
#include "crochet/session/state_operations.h"

namespace crochet::inline v0 {

// How much a checkpoint may differ from the graph that restores it.
struct RestoreRules {
  bool reshape = false;
  bool allow_missing = false;
  bool allow_surplus = false;
};

// How to restore the tensors of one checkpoint to one graph. Creating the plan checks
// all names, types and shapes; executing it checks that all data exists, and then reads each data
// file from start to end into the variables.
class RestorePlan {
 public:
  // Throws: an error that lists all mismatches: NotFoundError if the only problem is that names are
  // missing from the checkpoint, otherwise InvalidArgumentError.
  // Requires: the graph and the reader outlive this.
  RestorePlan(const Graph& graph, const CheckpointReader& reader,
              const internal::VariableSelection& selection = {}, const RestoreRules& rules = {});

  // Returns the result. With `operations`, these restore the variables.
  // Throws: DataLossError from reading.
  RestoreReport execute(Session& session, StateOperations* operations = nullptr) const;

 private:
  struct VariablePart {
    Variable variable;
    Shape shape;  // Of the value assigned to it.
  };
  struct ObjectPart {
    const RegisteredSaveable* object;
    std::vector<std::pair<std::string, std::string>> keys;  // Key of the object, name in the file.
  };

  void plan_variable(const Variable& variable, const internal::VariableSelection::Place& place,
                     const RestoreRules& rules);
  void plan_objects(const Graph& graph, const internal::VariableSelection& selection,
                    const std::vector<const RegisteredSaveable*>& objects,
                    const RestoreRules& rules);
  void find_surplus(bool wants_all, const RestoreRules& rules);
  void note_missing(const std::string& name, const std::string& problem, bool is_problem);
  void note_restored(const std::string& name, const std::string& key);
  // Records that the program uses this entry of the checkpoint.
  void mark_used(std::string_view key) { used_.push_back(key); }
  void throw_if_problems() const;
  std::vector<TensorMap> read_objects() const;
  void assign_variables(Session& session) const;
  void run(StateOperations& operations, Session& session) const;
  // The assignment that reads a variable's value from `pass`, which is over the requests.
  Assignment assignment(size_t number, CheckpointPass& pass) const;

  const CheckpointReader& reader_;
  std::vector<VariablePart> variables_;
  std::vector<TensorRequest> requests_;  // Of the variables, in the same order.
  std::vector<ObjectPart> objects_;
  RestoreReport report_;
  std::vector<std::string_view> used_;  // Names owned by the reader.
  std::vector<std::string> not_found_;  // Problems: keys the checkpoint does not have,
  std::vector<std::string> problems_;   // and all others.
};

}  // namespace crochet::inline v0
