// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/internal/restore_advice.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/listed.h"
#include "crochet/checkpoint/saver/internal/stored_names.h"
#include "crochet/io/file_system.h"
#include "crochet/loop/internal/joined_renamings.h"
#include "crochet/loop/internal/likely_renamings.h"
#include "crochet/loop/internal/present_shapes.h"
#include "crochet/tensor/internal/convert.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {
namespace {

std::string text(const RestoreMismatch::Value& value) {
  return fmt::format("{} {}", value.dtype, value.shape);
}

// "model/w" (float32 [3]); with `renamed` if it is sought under another name.
std::string text(const RestoreMismatch::Missing& missing) {
  const std::string key =
      missing.key == missing.name ? "" : fmt::format(" for \"{}\"", missing.name);
  return missing.value ? fmt::format("\"{}\" ({}){}", missing.key, text(*missing.value), key)
                       : fmt::format("\"{}\"{}", missing.key, key);
}

bool has_other_shape(const RestoreMismatch::Changed& changed) {
  return !changed.stored.shape.is_compatible_with(changed.expected.shape);
}

std::string text(const RestoreMismatch::Changed& changed) {
  return fmt::format("\"{}\" as {}, where this program has {}", changed.name, text(changed.stored),
                     has_other_shape(changed) ? text(changed.expected)
                                              : fmt::format("{}", changed.expected.dtype));
}
std::string text(const RestoreMismatch::Surplus& surplus) {
  return fmt::format("\"{}\" ({})", surplus.key, text(surplus.value));
}

template <typename Entries>
std::string texts(const Entries& entries) {
  std::vector<std::string> each_text;
  for (const auto& each : entries) each_text.push_back(text(each));
  return listed(each_text);
}

std::string facts(const RestoreMismatch& mismatch) {
  std::vector<std::string> facts;
  if (!mismatch.missing.empty()) facts.push_back("lacks " + texts(mismatch.missing));
  if (!mismatch.changed.empty()) facts.push_back("has " + texts(mismatch.changed));
  if (!mismatch.surplus.empty())
    facts.push_back(
        fmt::format("has {}, which this program does not track", texts(mismatch.surplus)));
  facts.insert(facts.end(), mismatch.others.begin(), mismatch.others.end());
  if (facts.empty()) facts.emplace_back("fits, but");
  std::string text = fmt::format("{}", fmt::join(facts, "; and "));
  for (const StoredName& each : mismatch.idle_renames)
    text += fmt::format("{}{}", text.ends_with("but") ? " " : "; ", described(each));
  return text + "; everything else matches";
}

// With the sizes that growing values have now. Only for texts: other sizes fit them, too.
RestoreMismatch with_present_shapes(RestoreMismatch mismatch, const Graph& graph) {
  const std::map<std::string, Shape> shapes = present_shapes(graph);
  const auto set = [&](const std::string& name, RestoreMismatch::Value& value) {
    if (const auto present = shapes.find(name); present != shapes.end())
      value.shape = present->second;
  };
  for (auto& each : mismatch.missing)
    if (each.value) set(each.name, *each.value);
  for (auto& each : mismatch.changed)
    if (has_other_shape(each)) set(each.name, each.expected);
  return mismatch;
}

std::string braces(const std::vector<std::string>& elements) {
  return fmt::format("{{{}}}", fmt::join(elements, ", "));
}

std::string code(const NamePatterns& patterns) {
  if (patterns.is_all()) return "true";
  if (patterns.empty()) return "false";
  std::vector<std::string> literals;
  for (const std::string& each : patterns.patterns()) literals.push_back(literal(each));
  return braces(literals);
}

std::string code(const std::vector<StoredName>& renamings) {
  std::vector<std::string> pairs;
  for (const StoredName& each : renamings)
    pairs.push_back(braces({literal(each.name), literal(each.stored_as)}));
  return braces(pairs);
}

std::string code(const CheckpointChoice& which) {
  if (which.step()) return fmt::format("CheckpointChoice::at_step({})", *which.step());
  if (which.is_newest()) return "CheckpointChoice::newest()";
  const char* const better = !which.better()                     ? ""
                             : *which.better() == Better::kLower ? ", Better::kLower"
                                                                 : ", Better::kHigher";
  return fmt::format("CheckpointChoice::best({}{})", literal(which.metric()), better);
}

// What differs from the defaults, in the order in which C++ requires it.
std::string code(const RestoreOptions& options) {
  std::vector<std::string> members;
  const auto add = [&](const char* name, bool is_set, const std::string& value) {
    if (is_set) members.push_back(fmt::format(".{} = {}", name, value));
  };
  const auto add_patterns = [&](const char* name, const NamePatterns& patterns) {
    add(name, !patterns.empty(), code(patterns));
  };
  add("from", !options.from.empty(), literal(options.from));
  add("which", !options.which.is_newest(), code(options.which));
  add("only", !options.only.is_all(), code(options.only));
  add_patterns("keep", options.keep);
  add("rename", !options.rename.empty(), code(options.rename));
  add_patterns("allow_missing", options.allow_missing);
  add_patterns("allow_mismatched", options.allow_mismatched);
  add_patterns("allow_surplus", options.allow_surplus);
  add_patterns("reshape", options.reshape);
  add_patterns("convert_dtype", options.convert_dtype);
  return braces(members);
}

bool can_be_reshaped(const RestoreMismatch::Changed& changed) {
  return changed.stored.dtype == changed.expected.dtype &&
         reshaped(changed.stored.shape, changed.expected.shape);
}

bool can_be_converted(const RestoreMismatch::Changed& changed) {
  return !has_other_shape(changed) && can_convert(changed.stored.dtype, changed.expected.dtype);
}

// The options of a program, extended until a checkpoint fits.
class ExtendedOptions {
 public:
  ExtendedOptions(RestoreOptions options, const RestoreMismatch& mismatch,
                  const JoinedRenamings& renamings)
      : options_(std::move(options)) {
    rename(renamings.rules, mismatch.idle_renames);
    std::vector<std::string> mismatched, reshaped, converted;
    for (const auto& each : mismatch.changed)
      (can_be_reshaped(each)    ? reshaped
       : can_be_converted(each) ? converted
                                : mismatched)
          .push_back(each.name);
    extend(options_.allow_missing, renamings.missing, "keep its initial value",
           "keep their initial values");
    extend(options_.allow_mismatched, mismatched, "keep the initial value",
           "keep the initial values");
    extend(options_.allow_surplus, renamings.surplus, "leave it out", "leave them out");
    extend(options_.reshape, reshaped, "restore it in the new shape",
           "restore them in the new shapes");
    extend(options_.convert_dtype, converted, "convert it", "convert them");
  }

  std::string code() const { return internal::code(options_); }
  // "keep its initial value and leave it out": what the extensions do, except renamings.
  std::string effects() const {
    if (effects_.empty()) return "";
    const std::vector<std::string> all_but_last(effects_.begin(), effects_.end() - 1);
    return fmt::format("{}{}{}", fmt::join(all_but_last, ", "), all_but_last.empty() ? "" : " and ",
                       effects_.back());
  }

 private:
  // The first rule that a name matches counts.
  void rename(std::vector<StoredName> renamings, const std::vector<StoredName>& idle) {
    for (const StoredName& each : options_.rename)
      if (std::ranges::count(renamings, each.name, &StoredName::name) == 0 &&
          std::ranges::count(idle, each) == 0)
        renamings.push_back(each);
    options_.rename = std::move(renamings);
    if (!idle.empty())
      effects_.emplace_back(idle.size() == 1 ? "leave out the rename that matches nothing"
                                             : "leave out the renames that match nothing");
  }
  void extend(NamePatterns& patterns, const std::vector<std::string>& names, const char* one,
              const char* several) {
    if (names.empty()) return;
    std::vector<std::string> extended = patterns.patterns();
    for (const std::string& name : names) extended.push_back(pattern_for(name));
    patterns = std::move(extended);
    effects_.emplace_back(names.size() == 1 ? one : several);
  }

  RestoreOptions options_;
  std::vector<std::string> effects_;
};

// What is left without the rules that match nothing: names that these gave are sought under others.
RestoreMismatch without_idle_renames(RestoreMismatch mismatch,
                                     const std::vector<StoredName>& rename) {
  std::vector<StoredName> rest = rename;
  std::erase_if(rest, [&](const StoredName& each) {
    return std::ranges::count(mismatch.idle_renames, each) > 0;
  });
  std::erase_if(mismatch.missing, [&](RestoreMismatch::Missing& each) {
    if (stored_name(rename, each.name) != each.key) return false;
    each.key = stored_name(rest, each.name);
    return std::erase_if(mismatch.surplus,
                         [&](const auto& surplus) { return surplus.key == each.key; }) > 0;
  });
  return mismatch;
}

// The command adds what it knows the type of, and removes or changes nothing by itself.
bool can_be_filled(const RestoreMismatch& mismatch) {
  return !mismatch.missing.empty() && mismatch.changed.empty() && mismatch.surplus.empty() &&
         std::ranges::all_of(mismatch.missing,
                             [](const auto& each) { return each.value.has_value(); });
}

// "if it was renamed".
std::string condition(const RestoreMismatch& mismatch, const std::vector<StoredName>& renamings) {
  if (renamings.size() > 1) return "if they were renamed";
  if (mismatch.missing.size() == 1) return "if it was renamed";
  std::string name = renamings.front().name;
  if (name.ends_with(".*")) name.resize(name.size() - 2);
  return fmt::format("if \"{}\" was renamed", name);
}

}  // namespace

std::string advice(const RestoreMismatch& mismatch, const AdvisedRestore& advised) {
  const std::string directory = directory_of(mismatch.prefix);
  std::string text =
      fmt::format("{}{}{} {}", directory, directory.empty() ? "" : ": ", base_name(mismatch.prefix),
                  facts(with_present_shapes(mismatch, advised.graph)));
  if (!mismatch.others.empty()) return text;  // No option helps.
  const std::string place = advised.is_load ? "" : ".restore = ";
  text += advised.is_load ? ". Load with " : ". Start with ";
  const RestoreMismatch rest = mismatch.idle_renames.empty()
                                   ? mismatch
                                   : without_idle_renames(mismatch, advised.options.rename);
  const JoinedRenamings renamings(likely_renamings(rest), rest, advised.graph);
  if (!renamings.rules.empty())
    text += fmt::format("{}{} {}, or with ", place,
                        ExtendedOptions(advised.options, rest, renamings).code(),
                        condition(rest, renamings.rules));
  const ExtendedOptions extended(advised.options, rest, {{}, rest, advised.graph});
  text += fmt::format("{}{} to {}", place, extended.code(), extended.effects());
  if (can_be_filled(rest))
    text += fmt::format(", or add {} to a copy with crochet convert --fill",
                        rest.missing.size() == 1 ? "it" : "them");
  return text;
}

void with_advice(const AdvisedRestore& advised, const std::function<void()>& restore) {
  try {
    restore();
  } catch (const Error& error) {
    const RestoreMismatch* const mismatch = mismatch_of(error);
    if (mismatch == nullptr) throw;
    throw_error(error.code(), advice(*mismatch, advised));
  }
}

}  // namespace crochet::inline v0::internal
