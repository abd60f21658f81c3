// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "crochet/tensor/shape.h"

namespace crochet::inline v0::internal {

// What a restore changes in a program in addition to values, in the words of one line of a log,
// with the options that prevent it.
class RestoreChanges {
 public:
  // Of entries that `pattern` matches, such as "model/layers/*".
  void add_dropped(const std::string& pattern, const std::string& name) {
    dropped_[pattern].push_back(name);
  }
  void add_made(const std::string& pattern, const std::string& name) {
    made_[pattern].push_back(name);
  }
  // Of a value that the option `keep` keeps by the name `kept_by`.
  void add_resized(const std::string& name, const Shape& now, const Shape& before,
                   const std::string& kept_by);
  // Of a value whose contents are replaced as a whole.
  void add_replaced(const std::string& name) { replaced_.insert(name); }

  bool empty() const {
    return dropped_.empty() && made_.empty() && resized_.empty() && replaced_.empty();
  }
  // "the checkpoint's structure and sizes replace those of this program: ...".
  std::string to_string() const;

 private:
  using Names = std::map<std::string, std::vector<std::string>>;  // By pattern.
  Names dropped_;
  Names made_;
  std::vector<std::string> resized_;  // Descriptions.
  std::set<std::string> resized_kept_by_;
  std::set<std::string> replaced_;
};

}  // namespace crochet::inline v0::internal
