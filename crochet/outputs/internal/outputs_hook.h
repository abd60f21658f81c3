// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "crochet/io/file_system.h"
#include "crochet/session/graph.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::internal {

class RunAgreement;
class RunOutput;

// The file in the directory of a run that lists the outputs that the run has begun: an object of
// JSON, the paths of the first files by the names of the outputs, relative to the directory. A
// start without a checkpoint finds by it that files were written by an earlier life of this run.
inline constexpr const char* kOutputsFile = "outputs.json";

// Tracks an output in the graph of a run.
void add_output(Graph& graph, std::shared_ptr<RunOutput> output);

// Puts outputs where a restore in the course of a run has left them, such as that of a rehearsal.
// Throws: as the hook's after_create_session().
void start_restored_outputs(const Graph& graph);

struct OutputsHookOptions {
  std::string directory = {};  // Of the run's checkpoints; may be empty.
  FileSystem* files = nullptr;
  std::shared_ptr<RunAgreement> agreement;
};

// Begins the outputs of a graph when a session is created, and notifies them where steps begin and
// end. Comes before all other hooks: what these write in a step belongs to the step. Null if the
// graph has no outputs.
//
// In a group, an output is the chief's, unless each rank has its own.
//
// after_create_session() checks all outputs before it cuts one. Throws: as OutputWriter::check();
// the file system's errors; DataLossError if the list is damaged.
std::shared_ptr<SessionRunHook> make_outputs_hook(const Graph& graph, OutputsHookOptions options);

}  // namespace crochet::inline v0::internal
