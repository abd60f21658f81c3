// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "crochet/checkpoint/directory/checkpoint_choice.h"
#include "crochet/checkpoint/saver/name_patterns.h"

namespace crochet::inline v0 {

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

}  // namespace crochet::inline v0
