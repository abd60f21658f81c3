// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "crochet/base/internal/export.h"
#include "crochet/session/graph.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0::internal {

// Which ranks a run has, and what of a graph's state is not the same in all of them. Attached to
// the graph. Declared before a run, and constant then.
//
// Used by the training thread.
class CROCHET_EXPORT RankLayout {
 public:
  // Returns the one of a graph; makes it if the graph has none.
  static std::shared_ptr<RankLayout> of(Graph& graph);
  // Returns the one of a graph, or null.
  static std::shared_ptr<RankLayout> find(const Graph& graph);

  // Requires: nothing is declared yet.
  void set_rank(int rank, int size);
  int rank() const { return rank_; }
  int size() const { return size_; }

  // A rank's slice of a variable.
  struct Slice {
    SaveSliceInfo place;
    bool is_empty = false;  // It has no elements: it is neither saved nor restored.
    bool is_whole = false;  // It is all of the variable.
  };
  void add_slice(const std::string& variable, Slice slice);
  const std::map<std::string, Slice, std::less<>>& slices() const { return slices_; }
  // Null if the variable is the same in all ranks.
  const Slice* slice_of(std::string_view variable) const;

  // Declares that each rank has its own value `name`. Returns the name of that of this rank:
  // "<name>/rank-<rank>".
  std::string add_per_rank(const std::string& name, Regroup regroup);
  const std::map<std::string, Regroup, std::less<>>& per_rank() const { return per_rank_; }
  // Declares that each rank has rows of the arrays at and beneath `name`, which a checkpoint has
  // together, in the order of the ranks.
  void add_rows(const std::string& name) { rows_.insert(name); }
  const std::set<std::string, std::less<>>& rows() const { return rows_; }
  // True for a name at or beneath one that was declared so.
  bool has_rows(std::string_view name) const;

  // If `name` is that of a rank's value, or lies beneath it.
  struct RankName {
    std::string_view name;  // Of the value: without "/rank-<rank>".
    int64_t rank;
  };
  std::optional<RankName> rank_name(std::string_view name) const;

  // True if nothing is declared: the whole state is the same in all ranks.
  bool empty() const { return slices_.empty() && per_rank_.empty() && rows_.empty(); }
  // True if arrays are in pieces that only a tensor bundle can have.
  bool has_pieces() const { return !slices_.empty() || !rows_.empty(); }
  // True for a variable or an entry of an object that is this rank's own.
  bool is_own(std::string_view name) const {
    return slice_of(name) || rank_name(name) || has_rows(name);
  }
  // True if a save needs other ranks.
  bool is_shared() const { return size_ > 1 && !empty(); }

 private:
  int rank_ = 0;
  int size_ = 1;
  std::map<std::string, Slice, std::less<>> slices_;
  std::map<std::string, Regroup, std::less<>> per_rank_;
  std::set<std::string, std::less<>> rows_;
};

}  // namespace crochet::inline v0::internal
