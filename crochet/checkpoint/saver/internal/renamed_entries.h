// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/any_format/internal/checkpoint_contents.h"
#include "crochet/checkpoint/saver/internal/owned_names.h"
#include "crochet/checkpoint/saver/restore_options.h"

namespace crochet::inline v0::internal {

// A checkpoint under the names that rules give it: a name that a rule matches is what the rule says
// it is stored as, and nothing else, even if the checkpoint has the name itself. A restore looks
// names up only here, so that a rename is applied before everything else.
//
// An entry may have several names, and one whose name was given to another entry has none. What
// belongs to a value that is renamed has its name by the same rule.
class RenamedEntries {
 public:
  using Item = StoredTensors::Item;
  // True for names that a rule with a `*` does not match: the step and the state of hooks, which
  // the program has not named.
  using IsFixed = std::function<bool(std::string_view name)>;

  // Requires: `contents` and `rules` outlive this.
  RenamedEntries(const CheckpointContents& contents, const std::vector<StoredName>& rules,
                 IsFixed is_fixed);

  // Has those of the values that have owners follow these, with all that is beneath their names;
  // also what only the checkpoint has: entries of an object with such parts whose names end with
  // what one of the values is stored as.
  void follow_owners(std::vector<OwnedName> values);

  // The name in the checkpoint of what the program calls `name`.
  std::string stored_name(const std::string& name) const;
  // Null if there is no such entry.
  const Item* find(const std::string& name) const;
  // Calls `visit` with each name and entry, sorted by the names.
  void for_each(const std::function<void(const std::string& name, const Item& item)>& visit) const;

  // Records that the rule that gives `name` has an effect.
  void use(const std::string& name);
  // The rules without one.
  std::vector<StoredName> idle_rules() const;

 private:
  static constexpr size_t kNone = SIZE_MAX;
  // The number of the first rule that matches; kNone if none does.
  size_t rule_of(const std::string& name) const;
  std::vector<OwnedName> unlisted(const std::vector<OwnedName>& values) const;

  const CheckpointContents& contents_;
  const std::vector<StoredName>& rules_;
  IsFixed is_fixed_;
  std::map<std::string, const Item*> entries_;  // Empty without rules.
  std::vector<bool> is_used_;                   // By rule.
};

}  // namespace crochet::inline v0::internal
