// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crochet::tool {

// A substitution in sed's syntax, "s/old/new/" or "s/old/new/g" with any delimiter:
// `old` is a POSIX extended regular expression; in `new`, "&" is the match and "\1" a group of it.
class Substitution {
 public:
  // Throws: InvalidArgumentError for other text.
  explicit Substitution(std::string_view text);

  std::string apply(const std::string& name) const;

 private:
  struct Expression;
  std::string replacement_for(const std::string& name, const void* matches, size_t offset) const;

  std::shared_ptr<const Expression> expression_;
  std::string replacement_;
  bool everywhere_ = false;
};

// The names of tensors in the copy.
struct Renaming {
  // Old name, new name: "old=new" on the command line.
  std::vector<std::pair<std::string, std::string>> whole = {};
  // Old prefix, new prefix.
  std::vector<std::pair<std::string, std::string>> prefixes = {};
  std::vector<Substitution> substitutions = {};

  // The new names by old name. Each name is changed by the first that matches: a whole name, a
  // prefix, or else by all substitutions in turn.
  // Throws: NotFoundError for a whole name or a prefix that no tensor has; InvalidArgumentError if
  // two tensors would have the same name, or one an empty name. Both list all problems.
  std::map<std::string, std::string> apply(const std::vector<std::string>& names) const;

 private:
  std::string new_name(const std::string& name) const;
};

// Parses "old=new". Throws: InvalidArgumentError without a "=" or with nothing before it.
std::pair<std::string, std::string> parse_renaming(std::string_view text);

}  // namespace crochet::tool
