// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/restoring.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/listed.h"
#include "crochet/checkpoint/directory/chosen_checkpoint.h"
#include "crochet/checkpoint/saver/stored_names.h"
#include "crochet/io/path.h"
#include "crochet/tensor/convert.h"
#include "crochet/tensor/fmt.h"

namespace crochet::inline v0::internal {
namespace {

std::string text(const RestoreMismatch::Value& value) {
  return fmt::format("{} {}", value.dtype, value.shape);
}

std::string text(const RestoreMismatch::Missing& missing) {
  return missing.value ? fmt::format("\"{}\" ({})", missing.name, text(*missing.value))
                       : fmt::format("\"{}\"", missing.name);
}
std::string text(const RestoreMismatch::Changed& changed) {
  return fmt::format("\"{}\" as {}, where this program has {}", changed.name, text(changed.stored),
                     text(changed.expected));
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
  return fmt::format("{}; everything else matches", fmt::join(facts, "; and "));
}

// `.allow_missing = {"a", "b"}`
std::string option(const char* name, const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  for (const std::string& each : names) quoted.push_back(fmt::format("\"{}\"", each));
  return fmt::format(".{} = {{{}}}", name, fmt::join(quoted, ", "));
}

// The missing value with the entry that has its type and shape, if that is the only one.
std::vector<StoredName> likely_renamings(const RestoreMismatch& mismatch) {
  std::vector<StoredName> renamings;
  for (const auto& missing : mismatch.missing) {
    if (!missing.value) continue;
    const auto is_alike = [&](const auto& other) {
      return other.value.dtype == missing.value->dtype &&
             other.value.shape.is_compatible_with(missing.value->shape);
    };
    const auto first = std::ranges::find_if(mismatch.surplus, is_alike);
    if (std::ranges::count_if(mismatch.surplus, is_alike) == 1)
      renamings.push_back({missing.name, first->key});
  }
  // Two values cannot have the same old name.
  std::set<std::string> old_names;
  for (const StoredName& each : renamings)
    if (!old_names.insert(each.stored_as).second) return {};
  return renamings;
}

std::string rename_option(const std::vector<StoredName>& renamings) {
  std::vector<std::string> pairs;
  for (const StoredName& each : renamings)
    pairs.push_back(fmt::format("{{\"{}\", \"{}\"}}", each.name, each.stored_as));
  return fmt::format(".restore = {{.rename = {{{}}}}}", fmt::join(pairs, ", "));
}

bool can_be_reshaped(const RestoreMismatch::Changed& changed) {
  return changed.stored.dtype == changed.expected.dtype &&
         changed.expected.shape.is_fully_known() &&
         changed.stored.shape.num_elements() == changed.expected.shape.num_elements();
}

bool can_be_converted(const RestoreMismatch::Changed& changed) {
  return changed.stored.shape.is_compatible_with(changed.expected.shape) &&
         can_convert(changed.stored.dtype, changed.expected.dtype);
}

// The options with which everything is restored that can be.
std::string options_for(const RestoreMismatch& mismatch) {
  std::vector<std::string> missing, mismatched, surplus, reshaped, converted;
  for (const auto& each : mismatch.missing) missing.push_back(each.name);
  for (const auto& each : mismatch.surplus) surplus.push_back(each.key);
  for (const auto& each : mismatch.changed)
    (can_be_reshaped(each)    ? reshaped
     : can_be_converted(each) ? converted
                              : mismatched)
        .push_back(each.name);
  std::vector<std::string> options;
  std::vector<std::string> effects;
  const auto add = [&](const char* name, const std::vector<std::string>& names, const char* one,
                       const char* several) {
    if (names.empty()) return;
    options.push_back(option(name, names));
    effects.emplace_back(names.size() == 1 ? one : several);
  };
  add("allow_missing", missing, "keep its initial value", "keep their initial values");
  add("allow_mismatched", mismatched, "keep the initial value", "keep the initial values");
  add("allow_surplus", surplus, "leave it out", "leave them out");
  add("reshape", reshaped, "restore it in the new shape", "restore them in the new shapes");
  add("convert_dtype", converted, "convert it", "convert them");
  if (options.empty()) return "";
  // The command adds what it knows the type of, and removes or changes nothing by itself.
  const bool can_be_filled = options.size() == 1 && !missing.empty() &&
                             std::ranges::all_of(mismatch.missing, [](const auto& each) {
                               return each.value.has_value();
                             });
  const std::string last = effects.back();
  effects.pop_back();
  return fmt::format(".restore = {{{}}} to {}{}{}{}", fmt::join(options, ", "),
                     fmt::join(effects, ", "), effects.empty() ? "" : " and ", last,
                     !can_be_filled        ? ""
                     : missing.size() == 1 ? ", or add it to a copy with crochet convert --fill"
                                           : ", or add them to a copy with crochet convert --fill");
}

}  // namespace

std::string advice(const RestoreMismatch& mismatch) {
  const std::string what = fmt::format("{}: {} {}", directory_of(mismatch.prefix),
                                       base_name(mismatch.prefix), facts(mismatch));
  const std::string options = options_for(mismatch);
  if (options.empty()) return what;
  const std::vector<StoredName> renamings = likely_renamings(mismatch);
  if (renamings.empty()) return fmt::format("{}. Start with {}", what, options);
  return fmt::format("{}. Start with {} if {} renamed, or with {}", what, rename_option(renamings),
                     renamings.size() == 1 ? "it was" : "they were", options);
}

void with_advice(const std::function<void()>& restore) {
  try {
    restore();
  } catch (const Error& error) {
    const RestoreMismatch* const mismatch = mismatch_of(error);
    if (mismatch == nullptr) throw;
    throw_error(error.code(), advice(*mismatch));
  }
}

void check_options(const RestoreOptions& options, const std::string& checkpoint_dir) {
  check_stored_names(options.rename);
  const auto refuse = [](const std::string& why) {
    throw InvalidArgumentError("LoopOptions: restore" + why);
  };
  if (options.from.empty() && !options.only.is_all())
    refuse(".only has no effect without restore.from");
  if (!options.from.empty() && options.from == checkpoint_dir)
    refuse(".from is checkpoint_dir, from which the run resumes in any case");
}

void set_restore_options(SaverOptions& saver, const RestoreOptions& options) {
  saver.reshape = options.reshape;
  saver.convert_dtype = options.convert_dtype;
  saver.allow_missing = options.allow_missing;
  saver.allow_mismatched = options.allow_mismatched;
  saver.allow_surplus = options.allow_surplus;
  saver.rename = options.rename;
  if (options.from.empty()) saver.go_back_to = options.which;
}

RestoreReport restore_from(Session& session, const RestoreOptions& options, FileSystem* files) {
  SaverOptions saver_options{.write_state = false, .files = files};
  set_restore_options(saver_options, options);
  if (!options.only.is_all())
    saver_options.filter = [only = options.only](std::string_view name) {
      return only.match(std::string(name));
    };
  Saver saver(std::move(saver_options));
  RestoreReport report;
  with_advice([&] {
    report = saver.restore(session, chosen_checkpoint(saver.files(), options.from, options.which));
  });
  return report;
}

}  // namespace crochet::inline v0::internal
