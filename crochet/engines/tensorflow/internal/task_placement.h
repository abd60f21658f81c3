// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "crochet/engines/tensorflow/cluster_spec.h"

struct TF_Graph;

namespace crochet::inline v0::tensorflow::internal {

// Parses the name of a task, "/job:worker/task:1". Throws: InvalidArgumentError if it has no job
// or no task, or further parts.
DeviceName parse_task(std::string_view text);

// A graph that was exported for one worker would run, or fail, on that worker from all others.
// Throws: FailedPreconditionError if the graph is for other tasks of the job but not for this one.
void check_placed_on(TF_Graph* graph, const DeviceName& task);

// The placement of variables without a job.
struct VariablePlacement {
  std::string job = "ps";
  int num_tasks = 0;  // 0: they are placed like all other operations.
  // Names of the variables' operations.
  std::unordered_set<std::string_view> variables = {};
};

// The serialized GraphDef with the operations of its job placed on `task`.
//
// Operations on another job, such as variables on "/job:ps", stay there. Operations on any task of
// the task's own job, or on no job, are placed on the task; the type and index of their device
// are kept. But operations without a job that are colocated with one on another job, or take a
// variable, queue or table from there, remain without a device, since they follow that one.
// Variables that are to be spread are placed on the tasks in turn, in their order in the graph,
// except those that follow another one.
// In functions only operations on the task's job are changed: the others run where it is called.
//
// Throws: DataLossError for bytes that are not a GraphDef. Invalid device names are not changed.
std::string place_on_task(std::string_view graph_def, const DeviceName& task,
                          const VariablePlacement& spread, const std::string& file);

}  // namespace crochet::inline v0::tensorflow::internal
