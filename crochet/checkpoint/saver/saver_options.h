// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/checkpoint/directory/retention.h"
#include "crochet/checkpoint/layout/checkpoint_writer.h"
#include "crochet/checkpoint/saver/saved_variable.h"
#include "crochet/io/file_system.h"

namespace crochet {

// Who writes the variables, and reads them back.
enum class StateWriter {
  // The graph's own operations (StateOperations) where they say that they are the better way, as
  // TensorFlow's do in a cluster, or where they save all of the graph's state and crochet cannot,
  // and no option asks for what only crochet can do; else crochet.
  kDefault,
  kCrochet,  // From a snapshot.
  // The graph's own operations, into tensor bundles. Training waits for them; what follows, as
  // sync, names, state file and retention, is crochet's as ever. Options of restores that only
  // crochet has (reshape, allow_missing) let it restore.
  kGraph,
};

// What becomes of state of the graph that a checkpoint would lack: what no Variable stands for and
// the graph's own operations do not save, as tables, iterators and queues, or variables that those
// operations leave out.
enum class UnsavedState {
  kRefuse,  // Nothing is saved: a FailedPreconditionError names the state.
  kWarn,    // It is left out, and a warning names it once. A resumed run begins without it.
};

struct SaverOptions {
  // What is saved and restored. Unset: all variables and objects of the graph, as it is at each
  // save. Entries of a checkpoint that are not listed are ignored by this saver.
  //
  //   {.var_list = {"bias", SavedVariable("dense/w").as("kernel")}}
  VariableList var_list = {};
  // Asked with the names of variables and objects in the graph; what it refuses is left out.
  // Empty: nothing is.
  std::function<bool(std::string_view name)> filter = {};
  // A value of another shape with as many elements is taken over, in row-major order.
  bool reshape = false;
  // The files of what is saved. Checkpoints of both formats are restored, kept and removed alike.
  CheckpointFormat format = CheckpointFormat::kTensorBundle;
  // Not kGraph with var_list, filter, another format or num_shards.
  StateWriter writer = StateWriter::kDefault;
  // A var_list says itself what is saved; a filter is asked about other state as well.
  UnsavedState unsaved_state = UnsavedState::kRefuse;
  // Into how many data files a checkpoint is divided, in parts of about the same size.
  int num_shards = 1;

  // How many of the newest checkpoints to keep; 0 keeps all, and lists none but the newest.
  int max_to_keep = 5;
  // Of those that max_to_keep would remove, one of every n hours, and the first at or after each
  // multiple of n steps, stay forever. 0 is off.
  std::optional<double> keep_checkpoint_every_n_hours = {};
  std::optional<int64_t> keep_checkpoint_every_n_steps = {};
  // Of those that max_to_keep would remove, the best by a metric stay as long as they are the best.
  // A checkpoint hook records the value of the graph, or the MetricSource, of this name.
  std::optional<KeepBest> keep_best = {};
  // More policies, beside these.
  std::vector<RetentionPolicy> retention = {};

  // The step in a checkpoint's name has at least 8 digits: "model.ckpt-00000100".
  bool pad_step_number = false;
  // The state file, in the directory of the checkpoints; and whether there is one at all.
  std::string latest_filename = "checkpoint";
  bool write_state = true;
  // Where a checkpoint goes that cannot be written into its own directory: on another disk,
  // preferably, and of this run alone. Empty: nowhere.
  std::string fallback_dir = {};
  // Begins no save for which the file system says that it lacks the room. A background save
  // tries a last time all the same; one that waits does not: for file systems that say less than
  // they have, switch it off. One that says 0, or cannot say, is not believed.
  bool check_free_space = true;
  // Writes `<prefix>.meta` if the engine has a graph to keep.
  bool write_meta_graph = true;

  // Variables that the checkpoint does not have stay as they are, instead of an error.
  bool allow_missing = false;
  // What is only in the checkpoint is ignored, instead of an error.
  bool allow_surplus = false;
  // A saver with nothing to save does nothing, instead of an error.
  bool allow_empty = false;
  // Nothing can be saved or restored before build(). Not together with var_list.
  bool defer_build = false;

  // Where files are written; the operating system's if null. Not owned.
  FileSystem* files = nullptr;
  // Measures saves; the machine's if null. Not owned.
  Clock* clock = nullptr;
};

}  // namespace crochet
