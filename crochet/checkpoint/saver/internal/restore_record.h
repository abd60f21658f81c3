// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/checkpoint_contents.h"
#include "crochet/checkpoint/saver/internal/renamed_entries.h"
#include "crochet/checkpoint/saver/internal/restore_changes.h"
#include "crochet/checkpoint/saver/internal/restore_mismatch.h"
#include "crochet/checkpoint/saver/internal/restore_rules.h"
#include "crochet/checkpoint/saver/internal/variable_selection.h"
#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/session/graph.h"
#include "crochet/session/internal/rank_layout.h"
#include "crochet/session/parted_saveable.h"

namespace crochet::inline v0::internal {

// True for the state of hooks, which may differ from run to run: the program has not named it.
bool is_hook_state(std::string_view name);

// What a restore does with each value, as the rules say: the only place that applies them to one
// value, and that keeps the account of all, for the report, the log and the error.
class RestoreRecord {
 public:
  using Item = StoredTensors::Item;  // Of the checkpoint.

  // Requires: all but `rules` outlive this.
  RestoreRecord(const Graph& graph, const CheckpointReader& reader,
                const VariableSelection& selection, RestoreRules rules);
  RestoreRecord(const RestoreRecord&) = delete;
  RestoreRecord& operator=(const RestoreRecord&) = delete;

  // Makes room for this many values.
  void reserve(size_t num_values) { report_.restored.reserve(num_values); }

  const RestoreRules& rules() const { return rules_; }
  const CheckpointContents& stored() const { return stored_; }
  // The checkpoint under the names that the rules give it.
  const RenamedEntries& entries() const { return entries_; }
  // The name of a variable or part in entries(), and in the checkpoint.
  std::string view_name(const std::string& name) const { return selection_.place_of(name).key; }
  std::string stored_name(const std::string& name) const {
    return entries_.stored_name(view_name(name));
  }

  bool keeps(const std::string& name) const;
  // True for what keeps the program's value if the checkpoint lacks it.
  bool stays(const std::string& name) const;
  // True for a value that keeps the program's value, also if this is an error.
  bool stays_own(const std::string& name) const { return keeps(name) || staying_.contains(name); }
  // True if each value so far has the checkpoint's value, of the same name.
  bool is_by_own_names() const {
    return rules_.options.rename.empty() && rules_.options.keep.empty() && staying_.empty();
  }
  // True for an entry of a container that only the checkpoint has, and that is not made.
  bool leaves_out_entry(const std::string& name) const;

  // How a stored value becomes one of the program's.
  struct Fit {
    std::optional<Shape> reshaped;  // To this shape of the program's.
    bool is_converted;
  };
  // Unset if it does not. Rules about `owner`, to which it belongs, apply to it.
  std::optional<Fit> find_fit(const std::string& name, const RestoreMismatch::Value& stored,
                              const RestoreMismatch::Value& expected,
                              const std::string& owner = "") const;
  // The same, and notes it. Without a fit, the program's value stays if the rules allow it;
  // otherwise that is a mismatch.
  std::optional<Fit> fit_of(const std::string& name, const RestoreMismatch::Value& stored,
                            const RestoreMismatch::Value& expected, const std::string& owner = "");

  // Uses of what is stored, by its name in entries().
  void add_used(const std::string& name, const Item& item);
  void add_used(const std::string& name, const std::string& stored_as) {
    add_used(name, stored_.item(stored_as));
  }
  // `stored_as` is the name in the checkpoint.
  void add_restored(const std::string& name, const std::string& stored_as);
  // A value that keeps the program's, as the option `keep` asks for, or as the checkpoint lacks it.
  // `item` is null if the checkpoint lacks it.
  void add_kept(const std::string& name, const Item* item);
  void add_kept(const std::string& name) { report_.kept.push_back(name); }
  void add_unchanged(const std::string& name) { report_.missing.push_back(name); }
  void add_left_out(const std::string& name) { report_.surplus.push_back(name); }
  // What the checkpoint lacks: a mismatch unless it is optional, or may be missing. `value` is
  // unset for an object.
  void add_missing(const std::string& name, std::optional<RestoreMismatch::Value> value,
                   bool is_optional = false);
  // What was noted as restored, and is not.
  void take_back(const std::string& name);

  // The size of a value whose size may change. One that was empty waits for the checkpoint's
  // elements. `whole` is the outermost value with this part that is kept as a whole.
  void add_size(const std::string& name, const Shape& now, const Shape& before,
                const std::optional<WholeValue>& whole = {});
  // Entries of containers, of which `pattern` matches all. A container that is awaited was empty.
  void add_dropped(const std::string& name, const std::string& pattern);
  void add_made(const std::string& name, const std::string& pattern, bool is_awaited);
  // Entries of a container that is kept as a whole.
  void add_entries(const std::string& name, const EntryChanges& changes);
  // Those within the entries of a container with keys that are read later.
  void add_within(const std::string& name, const EntryChanges& changes);
  // When its keys have been read. What differs within its entries is known only of the same ones.
  void add_keys(const std::string& name, const EntryChanges& changes);

  RestoreMismatch& mismatch() { return mismatch_; }
  // Finds what is not used. Throws: an error that lists all mismatches.
  void check_all();
  // "the checkpoint's structure and sizes replace those of this program: ..."; or empty.
  std::string changes() const { return changes_.empty() ? "" : changes_.to_string(); }
  RestoreReport take_report() { return std::move(report_); }

 private:
  size_t number_of(const Item& item) const {
    return static_cast<size_t>(&item - &*stored_.stored().begin());
  }
  // Has what belongs to a value follow it.
  void rename_owned_parts();
  void find_surplus();
  void find_idle_renames();

  const Graph& graph_;
  const CheckpointReader& reader_;
  const CheckpointContents& stored_;  // Of the reader.
  const VariableSelection& selection_;
  const RestoreRules rules_;
  RenamedEntries entries_;
  const std::shared_ptr<const RankLayout> ranks_;  // Null if the run has no such state.
  RestoreReport report_;
  std::vector<bool> used_;  // Whether the program uses an item, by its number.
  RestoreMismatch mismatch_;
  // Values that keep the program's values as the checkpoint's do not fit, or are missing.
  std::set<std::string> staying_;
  RestoreChanges changes_;
  // Within the entries of containers whose keys have not been read, by the names of these.
  struct Within {
    EntryChanges changes = {};
    std::vector<ResizedValue> resized = {};
  };
  std::map<std::string, Within> within_;
};

}  // namespace crochet::inline v0::internal
