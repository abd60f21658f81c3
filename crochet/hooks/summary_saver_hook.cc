// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/summary_saver_hook.h"

#include "crochet/base/error.h"
#include "crochet/hooks/global_step.h"

namespace crochet {
namespace {

// The key in the innermost map, or else the name of the operation.
void collect_tags(const Fetches& fetches, const std::string& key, std::vector<std::string>& tags) {
  if (const Output* const output = fetches.as_output())
    tags.push_back(key.empty() ? output->operation()->name : key);
  if (const auto* const list = fetches.as_list())
    for (const Fetches& item : *list) collect_tags(item, "", tags);
  if (const auto* const map = fetches.as_map())
    for (const auto& [name, item] : *map) collect_tags(item, name, tags);
}

void collect_tensors(const FetchValues& values, std::vector<const Tensor*>& tensors) {
  if (const Tensor* const tensor = values.as_tensor()) tensors.push_back(tensor);
  if (const auto* const list = values.as_list())
    for (const FetchValues& item : *list) collect_tensors(item, tensors);
  if (const auto* const map = values.as_map())
    for (const auto& [name, item] : *map) collect_tensors(item, tensors);
}

}  // namespace

SummarySaverHook::SummarySaverHook(const SummarySaverHookOptions& options)
    : options_(options),
      timer_({.every_secs = options.save_secs,
              .every_steps = options.save_steps,
              .clock = options.clock}),
      writer_(options.summary_writer) {
  if ((options_.scaffold != nullptr) != options_.summary_op.empty())
    throw InvalidArgumentError(
        "SummarySaverHook: exactly one of scaffold and summary_op must be given, "
        "found {}",
        options_.scaffold ? "both" : "neither");
}

void SummarySaverHook::begin(Graph& graph) {
  step_ = require_global_step(graph, *this);
  next_step_.reset();
  if (!options_.scaffold) options_.summary_op = graph.resolve(options_.summary_op);
  if (!writer_ && !options_.output_dir.empty())
    writer_ = SummaryWriter::for_directory(options_.output_dir);
}

void SummarySaverHook::after_create_session(Session& session, Coordinator&) {
  // A scaffold has its summaries only now that it is finalized.
  const Fetches summaries = session.graph().resolve(
      options_.scaffold ? options_.scaffold->summary_op : options_.summary_op);
  tags_.clear();
  collect_tags(summaries, "", tags_);
  request_ = Fetches::List{step_, summaries};
}

std::optional<SessionRunArgs> SummarySaverHook::before_run(SessionRunContext&) {
  requested_ = !next_step_ || timer_.should_trigger_for_step(*next_step_);
  if (!requested_) return SessionRunArgs{.fetches = step_};
  return SessionRunArgs{.fetches = request_};
}

void SummarySaverHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  if (!writer_) return;
  const FetchValues& fetched_step = requested_ ? values.results[0] : values.results;
  const int64_t stale_step = step_value(fetched_step.tensor());
  int64_t step = stale_step + 1;
  if (requested_) {
    step = read_global_step(context.session());
    if (!next_step_) writer_->add_session_log(SessionLog::kStart, stale_step);
    timer_.update_last_triggered_step(step);
    write(values, step);
  }
  next_step_ = step + 1;
}

void SummarySaverHook::write(const SessionRunValues& values, int64_t step) {
  std::vector<const Tensor*> tensors;
  collect_tensors(values.results[1], tensors);
  std::vector<Scalar> scalars;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i]->is_set()) scalars.push_back({tags_[i], tensors[i]->to_double()});
  if (!scalars.empty()) writer_->add_scalars(step, scalars);
}

void SummarySaverHook::end(Session&) {
  if (writer_) writer_->flush();
}

}  // namespace crochet
