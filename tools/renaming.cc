// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/renaming.h"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>
#include <regex.h>

#include "crochet/base/error.h"

namespace crochet::tool {
namespace {

constexpr size_t kMaxGroups = 10;  // The whole match and \1 to \9.
using Matches = std::array<regmatch_t, kMaxGroups>;

// Removes and returns the part up to the next delimiter. A backslash quotes the delimiter.
std::string take_part(std::string_view& rest, char delimiter, std::string_view whole) {
  std::string part;
  while (!rest.empty() && rest.front() != delimiter) {
    const bool is_escape = rest.front() == '\\' && rest.size() > 1;
    if (is_escape && rest[1] != delimiter) part += rest.front();
    if (is_escape) rest.remove_prefix(1);
    part += rest.front();
    rest.remove_prefix(1);
  }
  if (rest.empty())
    throw InvalidArgumentError(fmt::format("\"{}\": expected s/old/new/ or s/old/new/g", whole));
  rest.remove_prefix(1);
  return part;
}

void list_unused(const std::vector<std::pair<std::string, std::string>>& renamings,
                 const std::vector<std::string>& names, bool is_prefix,
                 std::vector<std::string>& problems) {
  for (const auto& [old_name, new_name] : renamings) {
    const auto fits = [&old = old_name, is_prefix](const std::string& name) {
      return is_prefix ? name.starts_with(old) : name == old;
    };
    if (std::ranges::none_of(names, fits))
      problems.push_back(
          fmt::format("no tensor is called \"{}{}\"", old_name, is_prefix ? "..." : ""));
  }
}

}  // namespace

struct Substitution::Expression {
  explicit Expression(const std::string& pattern) {
    if (const int error = ::regcomp(&compiled, pattern.c_str(), REG_EXTENDED); error != 0) {
      std::array<char, 256> text = {};
      ::regerror(error, &compiled, text.data(), text.size());
      throw InvalidArgumentError(fmt::format("\"{}\": {}", pattern, text.data()));
    }
  }
  ~Expression() { ::regfree(&compiled); }
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  regex_t compiled;
};

Substitution::Substitution(std::string_view text) {
  std::string_view rest = text;
  const bool starts_well = rest.size() > 1 && rest.front() == 's' && rest[1] != '\\';
  if (!starts_well)
    throw InvalidArgumentError(fmt::format("\"{}\": expected s/old/new/ or s/old/new/g", text));
  const char delimiter = rest[1];
  rest.remove_prefix(2);
  const std::string pattern = take_part(rest, delimiter, text);
  replacement_ = take_part(rest, delimiter, text);
  everywhere_ = rest == "g";
  if (!everywhere_ && !rest.empty())
    throw InvalidArgumentError(fmt::format(
        "\"{}\": found \"{}\" after the last {}, expected g or nothing", text, rest, delimiter));
  expression_ = std::make_shared<Expression>(pattern);
}

std::string Substitution::replacement_for(const std::string& name, const void* matches,
                                          size_t offset) const {
  const Matches& parts = *static_cast<const Matches*>(matches);
  const auto group = [&](size_t i) -> std::string {
    if (parts[i].rm_so < 0) return {};
    return name.substr(offset + static_cast<size_t>(parts[i].rm_so),
                       static_cast<size_t>(parts[i].rm_eo - parts[i].rm_so));
  };
  std::string result;
  for (size_t i = 0; i < replacement_.size(); ++i) {
    const char c = replacement_[i];
    if (c == '&') {
      result += group(0);
    } else if (c == '\\' && i + 1 < replacement_.size()) {
      const char next = replacement_[++i];
      result += next >= '1' && next <= '9' ? group(static_cast<size_t>(next - '0'))
                                           : std::string(1, next);
    } else {
      result += c;
    }
  }
  return result;
}

std::string Substitution::apply(const std::string& name) const {
  std::string result;
  size_t done = 0;
  while (done <= name.size()) {
    Matches matches;
    const int flags = done > 0 ? REG_NOTBOL : 0;
    if (::regexec(&expression_->compiled, name.c_str() + done, kMaxGroups, matches.data(), flags) !=
        0)
      break;
    const auto start = static_cast<size_t>(matches[0].rm_so);
    const auto length = static_cast<size_t>(matches[0].rm_eo) - start;
    result += name.substr(done, start) + replacement_for(name, &matches, done);
    done += start + length;
    if (!everywhere_) break;
    if (length == 0) {  // Advance by a character, or the loop would not end.
      if (done == name.size()) return result;
      result += name[done++];
    }
  }
  return result + name.substr(std::min(done, name.size()));
}

std::string Renaming::new_name(const std::string& name) const {
  for (const auto& [old_name, new_name] : whole)
    if (name == old_name) return new_name;
  for (const auto& [old_prefix, new_prefix] : prefixes)
    if (name.starts_with(old_prefix)) return new_prefix + name.substr(old_prefix.size());
  std::string result = name;
  for (const Substitution& substitution : substitutions) result = substitution.apply(result);
  return result;
}

std::map<std::string, std::string> Renaming::apply(const std::vector<std::string>& names) const {
  std::vector<std::string> problems;
  list_unused(whole, names, false, problems);
  list_unused(prefixes, names, true, problems);
  if (!problems.empty()) throw NotFoundError(fmt::format("{}", fmt::join(problems, "; ")));
  std::map<std::string, std::string> renamed, taken;
  for (const std::string& name : names) {
    const std::string target = new_name(name);
    const auto [other, is_free] = taken.emplace(target, name);
    if (target.empty())
      problems.push_back(fmt::format("\"{}\" would have no name", name));
    else if (!is_free)
      problems.push_back(fmt::format("\"{}\" and \"{}\" would both be called \"{}\"", other->second,
                                     name, target));
    renamed.emplace(name, target);
  }
  if (!problems.empty()) throw InvalidArgumentError(fmt::format("{}", fmt::join(problems, "; ")));
  return renamed;
}

std::pair<std::string, std::string> parse_renaming(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw InvalidArgumentError(fmt::format("\"{}\": expected old=new", text));
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

}  // namespace crochet::tool
