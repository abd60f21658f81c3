// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/c/internal/named_options.h"

#include <signal.h>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/hooks/guards/health_hook.h"
#include "crochet/hooks/logging_tensor_hook.h"
#include "crochet/hooks/nan_tensor_hook.h"
#include "crochet/hooks/progress_bar_hook.h"
#include "crochet/hooks/signal_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"

namespace crochet::inline v0::internal {
namespace {

[[noreturn]] void refuse(const std::string& text, std::string_view expected) {
  throw InvalidArgumentError(fmt::format("found \"{}\", expected {}", text, expected));
}

template <typename Number>
void read(const std::string& text,
          Number& number) requires std::integral<Number> || std::floating_point<Number> {
  Number read{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, read);
  if (error != std::errc() || rest != end)
    refuse(text, std::integral<Number> ? "a whole number" : "a number");
  number = read;
}
void read(const std::string& text, bool& value) {
  if (text != "true" && text != "false") refuse(text, "true or false");
  value = text == "true";
}
template <typename Text>
void read(const std::string& text,
          Text& value) requires std::constructible_from<Text, std::string> &&
    (!std::is_arithmetic_v<Text>) {
  value = Text(text);
}
void read(const std::string& text, CheckpointFormat& format) {
  if (text != "bundle" && text != "safetensors") refuse(text, "bundle or safetensors");
  format = text == "bundle" ? CheckpointFormat::kTensorBundle : CheckpointFormat::kSafetensors;
}
void read(const std::string& text, SaveOverlapPolicy& policy) {
  if (text == "wait")
    policy = SaveOverlapPolicy::kWait;
  else if (text == "skip")
    policy = SaveOverlapPolicy::kSkip;
  else if (text == "newest_wins")
    policy = SaveOverlapPolicy::kNewestWins;
  else
    refuse(text, "wait, skip or newest_wins");
}
// "accuracy higher", "loss lower".
void read(const std::string& text, KeepBest& best) {
  const size_t space = text.rfind(' ');
  const std::string better = space == std::string::npos ? "" : text.substr(space + 1);
  if (better != "higher" && better != "lower") refuse(text, "a metric and \"higher\" or \"lower\"");
  best.metric = text.substr(0, space);
  best.better = better == "higher" ? Better::kHigher : Better::kLower;
}

// After all that it calls.
template <typename T>
void read(const std::string& text, std::optional<T>& value) {
  T given{};
  read(text, given);
  value = std::move(given);
}

using Set = std::function<void(LoopOptions& options, const std::string& text)>;

#define CROCHET_OPTION(path)                                                                \
  {                                                                                         \
#path, [](LoopOptions & options, const std::string& text) { read(text, options.path); } \
  }

const std::map<std::string, Set, std::less<>>& settable_options() {
  static const auto* const table = new std::map<std::string, Set, std::less<>>{
      CROCHET_OPTION(checkpoint.dir),
      CROCHET_OPTION(checkpoint.basename),
      CROCHET_OPTION(checkpoint.every_steps),
      CROCHET_OPTION(checkpoint.every_secs),
      CROCHET_OPTION(checkpoint.budget_percent),
      CROCHET_OPTION(checkpoint.mean_secs_between_failures),
      CROCHET_OPTION(checkpoint.fast_dir),
      CROCHET_OPTION(checkpoint.fast_every_steps),
      CROCHET_OPTION(checkpoint.fast_every_secs),
      CROCHET_OPTION(checkpoint.copy_threads),
      CROCHET_OPTION(checkpoint.saving.overlap),
      CROCHET_OPTION(checkpoint.saving.deadline_secs),
      CROCHET_OPTION(checkpoint.saving.lock_directory),
      CROCHET_OPTION(checkpoint.saver.format),
      CROCHET_OPTION(checkpoint.saver.num_shards),
      CROCHET_OPTION(checkpoint.saver.share_unchanged),
      CROCHET_OPTION(checkpoint.saver.max_to_keep),
      CROCHET_OPTION(checkpoint.saver.keep_checkpoint_every_n_hours),
      CROCHET_OPTION(checkpoint.saver.keep_checkpoint_every_n_steps),
      CROCHET_OPTION(checkpoint.saver.keep_best),
      CROCHET_OPTION(checkpoint.saver.fallback_dir),
      CROCHET_OPTION(checkpoint.saver.check_free_space),
      CROCHET_OPTION(checkpoint.saver.record_command_line),
      CROCHET_OPTION(restore.from),
      CROCHET_OPTION(summaries.dir),
      CROCHET_OPTION(summaries.every_steps),
      CROCHET_OPTION(summaries.every_secs),
      CROCHET_OPTION(summaries.count_every_steps),
      CROCHET_OPTION(summaries.count_every_secs),
      CROCHET_OPTION(ending.deadline),
      CROCHET_OPTION(ending.save_on_error),
      CROCHET_OPTION(ending.continue_finished),
      CROCHET_OPTION(debug.check_torn_snapshots),
  };
  return *table;
}

#undef CROCHET_OPTION

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> found;
  for (std::string word; in >> word;) found.push_back(word);
  return found;
}

std::vector<int> signals(const std::string& text) {
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU};
  std::vector<int> numbers;
  for (const std::string& word : words(text)) {
    const int* const known = std::ranges::find(kSignals, word, signal_name);
    if (known == std::end(kSignals)) refuse(word, "the name of a signal, such as SIGTERM");
    numbers.push_back(*known);
  }
  return numbers;
}

template <typename Number>
Number number(const std::string& text) {
  Number value{};
  read(text, value);
  return value;
}

using MakeHook = HookHandle (*)(const std::string& argument);

const std::map<std::string, MakeHook, std::less<>>& makers_of_hooks() {
  static const auto* const table = new std::map<std::string, MakeHook, std::less<>>{
      {"StopAtStepHook",
       [](const std::string& argument) -> HookHandle {
         return StopAtStepHook({.last_step = number<int64_t>(argument)});
       }},
      {"StopAfterHook",
       [](const std::string& argument) -> HookHandle {
         return StopAfterHook({.secs = number<double>(argument)});
       }},
      {"SignalHook",
       [](const std::string& argument) -> HookHandle { return SignalHook(signals(argument)); }},
      {"SaveOnSignalHook",
       [](const std::string& argument) -> HookHandle {
         return SaveOnSignalHook(signals(argument));
       }},
      {"NanTensorHook",
       [](const std::string& argument) -> HookHandle { return NanTensorHook(argument); }},
      {"LoggingTensorHook",
       [](const std::string& argument) -> HookHandle {
         const std::vector<std::string> names = words(argument);
         return LoggingTensorHook({.tensors = {names.begin(), names.end()}, .every_n_secs = 10});
       }},
      {"ProgressBarHook",
       [](const std::string& argument) -> HookHandle {
         return ProgressBarHook({.values = words(argument)});
       }},
      {"HealthHook",
       [](const std::string& argument) -> HookHandle { return HealthHook({.dir = argument}); }},
  };
  return *table;
}

template <typename Table>
const typename Table::mapped_type& find(const Table& table, std::string_view name,
                                        const char* what) {
  const auto found = table.find(name);
  if (found != table.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, value] : table) names.push_back(known);
  throw InvalidArgumentError(fmt::format("\"{}\" is not the name of {}, expected one of {}", name,
                                         what, fmt::join(names, ", ")));
}

}  // namespace

void set_option(LoopOptions& options, std::string_view path, const std::string& text) {
  const Set& set = find(settable_options(), path, "an option");
  try {
    set(options, text);
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError(fmt::format("{}: {}", path, error.what()));
  }
}

HookHandle named_hook(std::string_view name, const std::string& argument) {
  const MakeHook make = find(makers_of_hooks(), name, "a hook");
  try {
    return make(argument);
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError(fmt::format("{}: {}", name, error.what()));
  }
}

}  // namespace crochet::inline v0::internal
