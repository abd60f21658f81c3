// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "crochet/session/parted_saveable.h"

namespace crochet::inline v0::internal {

// What options do to the values of an object that are restored as a whole or not at all (see
// WholeValue): half of the program's keys with half of the checkpoint's would be neither's.
class WholeValues {
 public:
  using Names = std::set<std::string, std::less<>>;
  struct Value {
    WholeValue::Kind kind;
    std::vector<const StatePart*> parts;  // That the program has.
  };

  // `present` are the parts that the program has, `stored` those of the checkpoint; `is_kept` says
  // whether the option `keep` matches a part. Requires: `present` outlives this.
  WholeValues(const std::vector<StatePart>& present, const StoredParts::Map& stored,
              const std::function<bool(const std::string& part)>& is_kept);

  // The names of values whose structure differs, or may, and that are kept.
  const Names& kept() const { return kept_; }
  // Those of which only some parts are kept; with the first of these.
  const std::map<std::string, std::string>& partly_kept() const { return partly_kept_; }

  // True for a part of an object that the checkpoint has with another class: a restore makes one in
  // its place, with nothing of the program's.
  bool is_of_other_class(const StatePart& part) const;

  // What the options do to a part: it gets what is stored, or keeps the program's value, as the
  // checkpoint lacks it, or as it has another type or shape there.
  enum class Fate { kRestored, kMissing, kMismatched };
  // Those of which a restore would get some parts only. `parts` are those of a plan.
  Names mixed(const std::vector<StatePart>& parts,
              const std::function<Fate(const StatePart& part)>& fate_of) const;

  // What is stored, with the program's parts in place of those of the values `own`.
  StoredParts::Map with_own(StoredParts::Map stored, const Names& own) const;

 private:
  // By name: those that both have, and whose structure differs, or may.
  std::map<std::string, Value> values_;
  Names of_other_classes_;  // Among them.
  Names kept_;
  std::map<std::string, std::string> partly_kept_;
};

// The names of objects that the checkpoint has, with another class than the program. `present` are
// the parts that the program has.
WholeValues::Names objects_of_other_classes(const std::vector<StatePart>& present,
                                            const StoredParts::Map& stored);

// The structure that a part of the program has where it stays.
StoredParts::Part own_part(const StatePart& part);

}  // namespace crochet::inline v0::internal
