// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <initializer_list>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/directory/checkpoint_choice.h"
#include "crochet/tensor/shape.h"

namespace crochet::inline v0 {

// Names of variables and objects: none, all, or those that match a pattern of the shell, in which
// `*` stands for any characters, including "/", `?` for one, and `[ab]` for one of several. A
// pattern without `*` also matches all that is beneath the name: "model" is "model" and "model/w".
//
//   {.allow_missing = {"model/momentum", "optimizer/*"}, .allow_surplus = true}
class CROCHET_EXPORT NamePatterns {
 public:
  // A template, since a pointer would convert to bool.
  template <std::same_as<bool> Bool>
  NamePatterns(Bool all) {
    if (all) patterns_.emplace_back("*");
  }
  NamePatterns(std::initializer_list<std::string> patterns) : patterns_(patterns) {}
  NamePatterns(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}

  bool match(const std::string& name) const;
  // The same by the patterns without `*` alone.
  bool match_without_star(const std::string& name) const;
  // True if no name matches.
  bool empty() const { return patterns_.empty(); }
  // True if every name does, by `true`.
  bool is_all() const { return patterns_.size() == 1 && patterns_.front() == "*"; }
  const std::vector<std::string>& patterns() const { return patterns_; }

 private:
  std::vector<std::string> patterns_;
};

namespace internal {

// The pattern that matches just this name, and what is beneath it.
CROCHET_EXPORT std::string pattern_for(std::string_view name);
// The text as a literal of C++.
CROCHET_EXPORT std::string literal(std::string_view text);

}  // namespace internal

// Where a value is stored under another name than the program's: each may have one `*`, which
// stands for the same characters in both. Without one, it is the value and all beneath its name.
struct StoredName {
  std::string name = {};
  std::string stored_as = {};

  friend bool operator==(const StoredName&, const StoredName&) = default;
};

// From where a program takes the values that it tracks, and how they may differ there from its own.
// By default everything must fit; an error names all that does not, and the options that help.
// A pattern without `*` also matches all that is beneath the name; one with it is about what the
// program tracks, and does not change what is restored of hooks.
// These are safe to leave in a program that is restarted: a value that was saved once as the
// program has it now is restored as it is.
struct RestoreOptions {
  // What to start with while checkpoint_dir has no checkpoint: the directory of another run, or a
  // checkpoint of crochet's or TensorFlow's, a safetensors file, or one of torch.save(). Empty: the
  // initial values.
  std::string from = {};
  // Which checkpoint in the directory `from`. Without `from`, the run goes back to that checkpoint
  // of its own once, and abandons the newer ones: their files are renamed to `<name>.abandoned`.
  // Started again with this option, it continues from its newest checkpoint.
  CheckpointChoice which = CheckpointChoice::newest();
  // The values to take from there; the others keep their initial values. All: the step and the
  // state of hooks as well, so that the run continues where the other one was.
  NamePatterns only = true;
  // The program's values that win over the checkpoint's: settings that a restart changes, such as a
  // learning rate ("optimizer/*/lr"). By default the checkpoint's win, so that a run resumes as it
  // was; a warning names the settings that differ.
  NamePatterns keep = false;
  // Names under which values are stored there, or in an older checkpoint of this run. They are
  // applied before everything else: a value whose name a rule matches is taken from the name that
  // the rule gives, and from no other. The first rule that matches counts; patterns match what the
  // program tracks, not the step. A rule that matches nothing is an error. What the run saves has
  // the new names, and records the rules, so that they can stay.
  std::vector<StoredName> rename = {};
  // Values that a checkpoint lacks, and those that it has with another shape or type, keep their
  // initial values.
  NamePatterns allow_missing = false;
  NamePatterns allow_mismatched = false;
  // Values that only the checkpoint has are ignored.
  NamePatterns allow_surplus = false;
  // A value of another shape with as many elements is restored in row-major order; a number of
  // another type is converted, if the new type can hold it.
  NamePatterns reshape = false;
  NamePatterns convert_dtype = false;
};

// A checkpoint that was tried and could not be used.
struct RefusedCheckpoint {
  std::string prefix = {};
  std::string reason = {};

  friend bool operator==(const RefusedCheckpoint&, const RefusedCheckpoint&) = default;
};

// A value that has another size in the checkpoint.
struct ResizedValue {
  std::string name = {};
  Shape now = {};
  Shape before = {};

  friend bool operator==(const ResizedValue&, const ResizedValue&) = default;
};

// What was restored from a checkpoint, and what was not.
struct RestoreReport {
  std::string prefix = {};
  // Variables and objects of the graph that now have the checkpoint's values.
  std::vector<std::string> restored = {};
  // Those that the checkpoint does not have, or only with another shape or type: they are
  // unchanged.
  std::vector<std::string> missing = {};
  // Those that keep the program's values, as the options ask for.
  std::vector<std::string> kept = {};
  // Names in the checkpoint that were not used.
  std::vector<std::string> surplus = {};
  // Of the restored ones: name in the graph -> another name in the checkpoint.
  std::map<std::string, std::string> renamed = {};
  // Variables whose value has another shape in the checkpoint and was reshaped.
  std::vector<std::string> reshaped = {};
  // Those whose numbers have another type in the checkpoint and were converted.
  std::vector<std::string> converted = {};

  // Entries of containers, and values of optionals and pointers, that the checkpoint lacks and that
  // are therefore gone: the topmost names.
  std::vector<std::string> dropped = {};
  // Those that only the checkpoint has, and that were made; for a container that was empty, its own
  // name. In both lists, a map or set whose keys have parts, and a variant, is one value.
  std::vector<std::string> made = {};
  // Values that were not empty and have got another size.
  std::vector<ResizedValue> resized = {};

  // Newer checkpoints that are damaged, the newest first. Their files have been renamed if this
  // process holds the directory's lock.
  std::vector<RefusedCheckpoint> refused = {};

  friend bool operator==(const RestoreReport&, const RestoreReport&) = default;
};

// One line for a log: numbers, the names of what is missing, surplus or reshaped, and why newer
// checkpoints were refused.
CROCHET_EXPORT std::string to_string(const RestoreReport& report);
CROCHET_EXPORT std::ostream& operator<<(std::ostream& out, const RestoreReport& report);

}  // namespace crochet::inline v0
