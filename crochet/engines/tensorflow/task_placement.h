// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "crochet/engines/tensorflow/device_name.h"

struct TF_Graph;

namespace crochet::tensorflow::internal {

// A task by its device's name, "/job:worker/task:1". Throws: InvalidArgumentError if it has no job
// or no task, or names more than a task.
DeviceName parse_task(std::string_view text);

// A graph that was exported for one worker runs on that one, or fails there, from all others.
// Throws: FailedPreconditionError if the graph is for other tasks of the job than this one alone.
void check_placed_on(TF_Graph* graph, const DeviceName& task);

// Which variables are put where if they name no job.
struct VariablePlacement {
  std::string job = "ps";
  int num_tasks = 0;  // 0: they are treated as all else.
  // Operations, by name.
  std::unordered_set<std::string_view> variables = {};
};

// The serialized GraphDef with the work of one task of a job placed on `task`.
//
// What is on another job stays there, such as variables on "/job:ps". What is on the task's own
// job, whichever task, or on no job, is put on the task; its type and number of device stay. But
// what names no job and is colocated with something on another job, or takes a variable, queue or
// table from there, stays without a device, since it follows that.
// Variables that are to be spread are put on one task after the other, in their order in the graph,
// but for those that follow another one.
// In functions only what names the task's job is changed: the rest runs where it is called.
//
// Throws: DataLossError for bytes that are no GraphDef. Devices that are none are left as they are.
std::string place_on_task(std::string_view graph_def, const DeviceName& task,
                          const VariablePlacement& spread, const std::string& file);

}  // namespace crochet::tensorflow::internal
