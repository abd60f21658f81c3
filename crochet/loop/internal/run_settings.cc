// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/internal/run_settings.h"

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crochet::inline v0::internal {
namespace {

using Value = HyperparameterValue;

std::string value_of(const NamePatterns& patterns) {
  return fmt::format("{}", fmt::join(patterns.patterns(), ", "));
}
std::string value_of(const std::vector<StoredName>& names) {
  std::vector<std::string> texts;
  for (const StoredName& each : names) texts.push_back(each.name + " = " + each.stored_as);
  return fmt::format("{}", fmt::join(texts, ", "));
}
std::string value_of(const CheckpointChoice& which) { return to_string(which); }
std::string value_of(const KeepBest& best) { return fmt::format("{} by {}", best.n, best.metric); }
std::string value_of(const VariableList& list) {
  std::vector<std::string> names;
  if (list)
    for (const SavedVariable& variable : *list) names.push_back(variable.name);
  return fmt::format("{}", fmt::join(names, ", "));
}
std::string value_of(const HookList& hooks) {
  std::vector<std::string> names;
  for (const HookHandle& hook : hooks) names.push_back(hook->name());
  return fmt::format("{}", fmt::join(names, ", "));
}
std::string value_of(const std::vector<MetricSource>& metrics) {
  std::vector<std::string> names;
  for (const MetricSource& metric : metrics) names.push_back(metric.name);
  return fmt::format("{}", fmt::join(names, ", "));
}
std::string value_of(CheckpointFormat format) {
  return format == CheckpointFormat::kSafetensors ? "safetensors" : "tensor bundle";
}
std::string value_of(SaveOverlapPolicy policy) {
  return policy == SaveOverlapPolicy::kWait   ? "wait"
         : policy == SaveOverlapPolicy::kSkip ? "skip"
                                              : "newest wins";
}
std::string value_of(SaveErrorPolicy policy) {
  return policy == SaveErrorPolicy::kStop ? "stop" : "continue";
}
std::string value_of(StateWriter writer) {
  return writer == StateWriter::kGraph     ? "graph"
         : writer == StateWriter::kCrochet ? "crochet"
                                           : "default";
}
std::string value_of(UnsavedState state) {
  return state == UnsavedState::kWarn ? "warn" : "refuse";
}
std::string value_of(const std::shared_ptr<Group>& group) {
  return group ? fmt::format("rank {} of {}", group->rank(), group->size()) : "";
}
template <typename T>
std::string value_of(const std::vector<T>& objects) {
  return objects.empty() ? "" : fmt::format("{}", objects.size());
}
template <typename Function>
std::string value_of(const std::function<Function>& function) {
  return function ? "set" : "";
}
template <typename T>
std::string value_of(const std::shared_ptr<T>& object) {
  return object ? "set" : "";
}
bool value_of(bool value) { return value; }
int64_t value_of(std::integral auto value) { return value; }
double value_of(double value) { return value; }
template <std::convertible_to<std::string> Text>
std::string value_of(const Text& text) {
  return text;
}
template <typename T>
Value value_of(const std::optional<T>& value) {
  return value ? Value(value_of(*value)) : Value(std::string());
}

class Changes {
 public:
  template <typename T>
  void add(std::string name, const T& option, const T& by_default) {
    const Value value(value_of(option));
    if (value != Value(value_of(by_default))) found_.push_back({std::move(name), value});
  }
  std::vector<Hyperparameter> take() { return std::move(found_); }

 private:
  std::vector<Hyperparameter> found_;
};

// Adds the field of two structs of one type under its name.
#define CROCHET_ADD(field) changes.add(path + #field, options.field, defaults.field)

void add(Changes& changes, const std::string& path, const SavingOptions& options) {
  const SavingOptions defaults;
  CROCHET_ADD(metrics);
  CROCHET_ADD(overlap);
  CROCHET_ADD(on_error);
  CROCHET_ADD(deadline_secs);
  CROCHET_ADD(lock_directory);
}

void add(Changes& changes, const std::string& path, const SaverOptions& options) {
  const SaverOptions defaults;
  CROCHET_ADD(var_list);
  CROCHET_ADD(filter);
  CROCHET_ADD(format);
  CROCHET_ADD(writer);
  CROCHET_ADD(unsaved_state);
  CROCHET_ADD(num_shards);
  CROCHET_ADD(share_unchanged);
  CROCHET_ADD(max_to_keep);
  CROCHET_ADD(keep_checkpoint_every_n_hours);
  CROCHET_ADD(keep_checkpoint_every_n_steps);
  CROCHET_ADD(keep_best);
  CROCHET_ADD(retention);
  CROCHET_ADD(pad_step_number);
  CROCHET_ADD(latest_filename);
  CROCHET_ADD(write_state);
  CROCHET_ADD(fallback_dir);
  CROCHET_ADD(check_free_space);
  CROCHET_ADD(write_meta_graph);
  CROCHET_ADD(record_command_line);
  CROCHET_ADD(allow_empty);
  CROCHET_ADD(defer_build);
}

void add(Changes& changes, const std::string& path, const CheckpointOptions& options) {
  const CheckpointOptions defaults;
  CROCHET_ADD(dir);
  CROCHET_ADD(basename);
  CROCHET_ADD(every_steps);
  CROCHET_ADD(every_secs);
  CROCHET_ADD(budget_percent);
  CROCHET_ADD(mean_secs_between_failures);
  CROCHET_ADD(fast_dir);
  CROCHET_ADD(fast_every_steps);
  CROCHET_ADD(fast_every_secs);
  CROCHET_ADD(listeners);
  CROCHET_ADD(copy_threads);
  add(changes, path + "saving.", options.saving);
  add(changes, path + "saver.", options.saver);
}

void add(Changes& changes, const std::string& path, const RestoreOptions& options) {
  const RestoreOptions defaults;
  CROCHET_ADD(from);
  CROCHET_ADD(which);
  CROCHET_ADD(only);
  CROCHET_ADD(keep);
  CROCHET_ADD(rename);
  CROCHET_ADD(allow_missing);
  CROCHET_ADD(allow_mismatched);
  CROCHET_ADD(allow_surplus);
  CROCHET_ADD(reshape);
  CROCHET_ADD(convert_dtype);
}

void add(Changes& changes, const std::string& path, const SummaryOptions& options) {
  const SummaryOptions defaults;
  CROCHET_ADD(dir);
  CROCHET_ADD(every_steps);
  CROCHET_ADD(every_secs);
  CROCHET_ADD(count_every_steps);
  CROCHET_ADD(count_every_secs);
}

void add(Changes& changes, const std::string& path, const RankOptions& options) {
  const RankOptions defaults;
  CROCHET_ADD(group);
  CROCHET_ADD(agree_every_n_steps);
  CROCHET_ADD(timeout_secs);
}

void add(Changes& changes, const std::string& path, const EndOptions& options) {
  const EndOptions defaults;
  CROCHET_ADD(deadline);
  CROCHET_ADD(stop_grace_period_secs);
  CROCHET_ADD(save_on_error);
  CROCHET_ADD(continue_finished);
}

void add(Changes& changes, const std::string& path, const DebugOptions& options) {
  const DebugOptions defaults;
  CROCHET_ADD(rehearsal_steps);
  CROCHET_ADD(check_torn_snapshots);
}

// Not inline: g++ 12 takes parts of it for uninitialised otherwise.
[[gnu::noinline]] MonitoredTrainingSessionOptions defaults_for(Graph& graph) {
  return {.graph = graph};
}

}  // namespace

std::vector<Hyperparameter> changed_options(const LoopOptions& options) {
  Changes changes;
  const std::string path;
  const LoopOptions defaults;
  add(changes, "checkpoint.", options.checkpoint);
  add(changes, "restore.", options.restore);
  add(changes, "summaries.", options.summaries);
  add(changes, "ranks.", options.ranks);
  CROCHET_ADD(hooks);
  CROCHET_ADD(max_recoveries);
  add(changes, "ending.", options.ending);
  add(changes, "debug.", options.debug);
  return changes.take();
}

std::vector<Hyperparameter> changed_options(const MonitoredTrainingSessionOptions& options) {
  Changes changes;
  const std::string path;
  const MonitoredTrainingSessionOptions defaults = defaults_for(options.graph);
  CROCHET_ADD(master);
  CROCHET_ADD(is_chief);
  add(changes, "ranks.", options.ranks);
  CROCHET_ADD(checkpoint_dir);
  CROCHET_ADD(checkpoint_basename);
  CROCHET_ADD(scaffold);
  CROCHET_ADD(hooks);
  CROCHET_ADD(chief_only_hooks);
  CROCHET_ADD(save_checkpoint_steps);
  CROCHET_ADD(save_checkpoint_secs);
  CROCHET_ADD(saving_listeners);
  add(changes, "saving.", options.saving);
  add(changes, "saver.", options.saver);
  CROCHET_ADD(save_summaries_steps);
  CROCHET_ADD(save_summaries_secs);
  CROCHET_ADD(log_step_count_steps);
  CROCHET_ADD(summary_dir);
  changes.add("config", std::string(options.config.serialized.empty() ? "" : "set"), std::string());
  CROCHET_ADD(stop_grace_period_secs);
  CROCHET_ADD(max_wait_secs);
  CROCHET_ADD(recovery_wait_secs);
  CROCHET_ADD(max_recoveries);
  CROCHET_ADD(can_recover);
  return changes.take();
}

#undef CROCHET_ADD

}  // namespace crochet::inline v0::internal
