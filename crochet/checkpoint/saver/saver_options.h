// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/directory/retention.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/io/file_system.h"
#include "crochet/session/graph.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0 {

namespace internal {

// The compiler shows this name where braces hold two names.
struct UseOnePairOfBracesOrSavedVariable {};

}  // namespace internal

// A variable or an object that a saver saves and restores, by its name in the graph, and its key in
// the file: its own name by default. The parts of a partitioned variable have one key and a slice
// each.
//
//   Saver({.var_list = {"bias", SavedVariable("dense/w").as("kernel")}});
//   Saver({.var_list = {SavedVariable("w_0").as("w", SaveSliceInfo{{4, 2}, parse_slice("0,2:-")}),
//                       SavedVariable("w_1").as("w", SaveSliceInfo{{4, 2},
//                       parse_slice("2,2:-")})}});
struct CROCHET_EXPORT SavedVariable {
  // A template, since two names in braces would construct a std::string from two iterators.
  template <std::convertible_to<std::string> Name>
  SavedVariable(Name name_in) : name(std::move(name_in)), key(name) {}
  SavedVariable(const Variable& variable) : SavedVariable(variable.name()) {}
  // Deleted, because {{"v2", "v1"}} is ambiguous: two variables, or one with a key? (On one line,
  // as clang shows the first line of a declaration.)
  template <typename Name, typename Key>
  SavedVariable(const Name&, const Key&, internal::UseOnePairOfBracesOrSavedVariable = {}) = delete;

  // The same with another key, and as a slice of the variable with that key.
  SavedVariable as(std::string other_key, std::optional<SaveSliceInfo> of_slice = {}) const;

  std::string name;
  std::string key;
  std::optional<SaveSliceInfo> slice;
};

// The variables that a saver saves: unset, or a list, which may be empty.
class CROCHET_EXPORT VariableList {
 public:
  VariableList();
  VariableList(std::initializer_list<SavedVariable> variables);
  VariableList(std::vector<SavedVariable> variables);

  // True if it is set.
  explicit operator bool() const { return variables_.has_value(); }
  // Requires: it is set.
  const std::vector<SavedVariable>& operator*() const { return *variables_; }
  const std::vector<SavedVariable>* operator->() const { return &*variables_; }

 private:
  std::optional<std::vector<SavedVariable>> variables_;
};

// What happens to a save that is due while another one is still being written.
enum class SaveOverlapPolicy {
  kWait,        // Training waits until that one is written: no save is lost.
  kSkip,        // It is skipped; the one being written continues.
  kNewestWins,  // It is written next; another one that was waiting is skipped.
};

// What happens after a save that could not be written, after all retries. A state that no save can
// store (SaveFault::kState) always stops the run.
enum class SaveErrorPolicy {
  kContinue,  // Training continues, with an error in the log; only the error of the last save is
              // thrown, at the end.
  kStop,      // The error is thrown once, by the next run, or at the end if there is no next run.
};

// What writes the variables and reads them back.
enum class StateWriter {
  // The graph's own operations (StateOperations) if they report that they are the better way, as
  // TensorFlow's do in a cluster, or if they save all of the graph's state and crochet cannot,
  // and no option requires what only crochet can do; otherwise crochet.
  kDefault,
  kCrochet,  // From a snapshot.
  // The graph's own operations, as tensor bundles. Training waits for them; crochet still does the
  // rest: sync, names, state file and retention. With RestoreOptions, which only crochet supports,
  // crochet restores.
  kGraph,
};

// What to do about state of the graph that a checkpoint would lack: state that is not a Variable
// and that the graph's own operations do not save, such as tables, iterators and queues, or
// variables that those operations leave out.
enum class UnsavedState {
  kRefuse,  // Nothing is saved: a FailedPreconditionError names the state.
  kWarn,    // It is left out; one warning names it. A resumed run starts without it.
};

struct SaverOptions {
  // What is saved and restored. Unset: all variables and objects that the graph has at the time of
  // each save. Entries of a checkpoint that are not listed are ignored by this saver.
  //
  //   {.var_list = {"bias", SavedVariable("dense/w").as("kernel")}}
  VariableList var_list = {};
  // Called with the names of variables and objects in the graph; those for which it returns false
  // are left out. Empty: nothing is left out.
  std::function<bool(std::string_view name)> filter = {};
  // The format in which to save. Checkpoints of both formats are restored, kept and removed alike.
  CheckpointFormat format = CheckpointFormat::kTensorBundle;
  // Not kGraph with var_list, filter, another format or num_shards.
  StateWriter writer = StateWriter::kDefault;
  // Has no effect with a var_list; a filter is called for such state as well.
  UnsavedState unsaved_state = UnsavedState::kRefuse;
  // The number of data files of a checkpoint, which have about the same size; not counting those
  // that it shares with others.
  int num_shards = 1;
  // Large values that did not change since the last checkpoint that this process wrote are not
  // written again: both checkpoints have the data file that contains them, under two names (hard
  // links). Each stays complete and can be removed alone. But the bytes are on the disk only once:
  // if they are damaged, all checkpoints that share them are. The first checkpoint of a process
  // shares nothing. Only tensor bundles are shared, and only where files can have several names.
  bool share_unchanged = true;

  // The number of newest checkpoints to keep; 0 keeps all, and lists only the newest.
  int max_to_keep = 5;
  // Of those that max_to_keep would remove, keeps one of every n hours, and the first at or after
  // each multiple of n steps, permanently. 0 is off.
  std::optional<double> keep_checkpoint_every_n_hours = {};
  std::optional<int64_t> keep_checkpoint_every_n_steps = {};
  // Of those that max_to_keep would remove, keeps the best by a metric while they are the best.
  // A checkpoint hook records the value of the graph, or the MetricSource, of this name.
  std::optional<KeepBest> keep_best = {};
  // More policies, in addition to these.
  std::vector<RetentionPolicy> retention = {};

  // The step in a checkpoint's name has at least 8 digits: "model.ckpt-00000100".
  bool pad_step_number = false;
  // The name of the state file, in the directory of the checkpoints; and whether to write it.
  FileName latest_filename = "checkpoint";
  bool write_state = true;
  // The directory for checkpoints that cannot be written to their own directory: preferably on
  // another disk, and used by this run only. Empty: none.
  std::string fallback_dir = {};
  // Does not start a save if the file system reports too little free space for it. The last attempt
  // of a background save ignores this; a synchronous save does not: switch it off for file systems
  // that report less than they have. A report of 0, or none, is not believed.
  bool check_free_space = true;
  // Writes `<prefix>.meta` if the engine has a graph to keep.
  bool write_meta_graph = true;
  // Whether `<prefix>.json` has the program's command line. In it, the values of options whose
  // names look secret (--password=x, --api-key x, TOKEN=x) and the users of URLs are "***".
  bool record_command_line = true;

  // A saver with nothing to save does nothing; otherwise that is an error.
  bool allow_empty = false;
  // Nothing can be saved or restored before build(). Not together with var_list.
  bool defer_build = false;

  // The file system; the operating system's if null. Not owned.
  FileSystem* files = nullptr;
  // For save times and waits; the real clock if null. Not owned.
  Clock* clock = nullptr;
};

}  // namespace crochet::inline v0
