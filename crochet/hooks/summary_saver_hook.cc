// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/summary_saver_hook.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/hooks/internal/from_tensor.h"
#include "crochet/hooks/internal/global_step.h"
#include "crochet/hooks/internal/periodic_hook.h"
#include "crochet/summary/internal/plugin_summaries.h"

namespace crochet::inline v0 {
namespace {

bool is_in(const Graph& graph, std::string_view collection, const Output& output) {
  return std::ranges::count(graph.collection(collection), output) > 0;
}

SummaryValue text_of(const std::string& tag, const Tensor& text) {
  if (text.dtype() != DType::kString)
    throw InvalidArgumentError(fmt::format(
        "the text summary \"{}\" is a tensor {}, expected strings", tag, describe(text)));
  return {.tag = tag, .text = text};
}

std::string image_of(const std::string& tag, const Tensor& pixels) {
  try {
    return internal::plugins::encode_image(tag, pixels);
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError(fmt::format("the image \"{}\": {}", tag, error.what()));
  }
}

std::string encoded_summary(const std::string& name, const Tensor& value) {
  std::string encoded;
  for (const std::string& message : value.strings()) encoded += message;
  try {
    decode_summary(encoded);
  } catch (const DataLossError& error) {
    throw InvalidArgumentError(fmt::format(
        "the summary \"{}\" is a string but not an encoded Summary ({}); a text belongs in the "
        "collection \"{}\"",
        name, error.what(), kTextSummariesCollection));
  }
  return encoded;
}

}  // namespace

SummarySaverHook::SummarySaverHook(const SummarySaverHookOptions& options)
    : options_(options),
      timer_({.every_steps = options.save_steps,
              .every_secs = options.save_secs,
              .clock = options.clock,
              .owner = "SummarySaverHook",
              .steps_option = "save_steps",
              .secs_option = "save_secs"}),
      writer_(options.summary_writer) {
  options_.output_dir = FileSystem::posix().fixed_path(options_.output_dir);
  if ((options_.scaffold != nullptr) != options_.summary_op.empty())
    throw InvalidArgumentError(
        fmt::format("SummarySaverHook: exactly one of scaffold and summary_op must be given, "
                    "found {}",
                    options_.scaffold ? "both" : "neither"));
}

void SummarySaverHook::begin(Graph& graph) {
  internal::require_global_step(graph, *this);
  if (!options_.scaffold)
    options_.summary_op = internal::resolve_values(graph, options_.summary_op, *this);
  if (!writer_ && !options_.output_dir.empty())
    writer_ = SummaryWriter::for_directory(options_.output_dir, FileSystem::posix(),
                                           Clock::or_real(options_.clock));
}

void SummarySaverHook::after_create_session(Session& session, Coordinator&) {
  // A scaffold has its summary_op only once it is finalized.
  const Fetches summaries = session.graph().resolve(
      options_.scaffold ? options_.scaffold->summary_op : options_.summary_op);
  leaves_.clear();
  record_leaves(session.graph(), summaries, "");
  std::vector<Output> outputs;
  flatten(summaries, outputs);
  request_ = Fetches::List(outputs.begin(), outputs.end());
  next_step_.reset();
  timer_.reset();
  if (writer_) writer_->start_session(read_global_step(session));
}

// A leaf's tag is its key in the innermost map, or else the name of the operation.
void SummarySaverHook::record_leaves(const Graph& graph, const Fetches& fetches,
                                     const std::string& key) {
  if (const Output* const output = fetches.as_output()) {
    const Kind kind = is_in(graph, kHistogramSummariesCollection, *output) ? Kind::kHistogram
                      : is_in(graph, kTextSummariesCollection, *output)    ? Kind::kText
                      : is_in(graph, kImageSummariesCollection, *output)   ? Kind::kImage
                                                                           : Kind::kNumber;
    leaves_.push_back({key.empty() ? output->operation()->name : key, kind});
  }
  if (const auto* const list = fetches.as_list())
    for (const Fetches& item : *list) record_leaves(graph, item, "");
  if (const auto* const map = fetches.as_map())
    for (const auto& [name, item] : *map) record_leaves(graph, item, name);
}

std::optional<SessionRunArgs> SummarySaverHook::before_run(SessionRunContext& context) {
  internal::require_session(!request_.empty(), *this);
  requested_ = !next_step_ || timer_.should_trigger_for_step(*next_step_);
  context.request_global_step();
  if (!requested_) return {};
  return SessionRunArgs{.fetches = request_};
}

void SummarySaverHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  if (!writer_) return;
  int64_t step = context.global_step() + 1;
  if (requested_) {
    step = read_global_step(context.session());
    writer_->write_start();
    timer_.update_last_triggered_step(step);
    write(values.results, step);
  }
  next_step_ = step + 1;
}

void SummarySaverHook::write(const FetchValues& results, int64_t step) {
  std::vector<SummaryValue> summaries;
  std::string encoded;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const Tensor& value = results[i].tensor();
    const auto& [tag, kind] = leaves_[i];
    if (!value.is_set()) continue;
    if (kind == Kind::kHistogram) {
      summaries.push_back(histogram_of(tag, value, step));
    } else if (kind == Kind::kText) {
      summaries.push_back(text_of(tag, value));
    } else if (kind == Kind::kImage) {
      encoded += image_of(tag, value);
    } else if (value.dtype() == DType::kString) {
      encoded += encoded_summary(tag, value);
    } else {
      summaries.push_back(
          {.tag = tag, .simple_value = internal::number_of("the curve ", tag, value)});
    }
  }
  writer_->add_values(step, summaries, encoded);
}

SummaryValue SummarySaverHook::histogram_of(const std::string& tag, const Tensor& values,
                                            int64_t step) {
  SummaryValue summary{.tag = tag, .histogram = make_histogram(values)};
  const int64_t left_out = values.num_elements() - static_cast<int64_t>(summary.histogram->num);
  if (left_out > 0 && !std::exchange(warned_of_histogram_, true))
    log_warning(fmt::format(
        "the histogram \"{}\" of step {} leaves out {} of {} elements, which are not finite", tag,
        step, left_out, values.num_elements()));
  return summary;
}

void SummarySaverHook::end(Session& session) {
  if (!writer_) return;
  const bool has_run = next_step_.has_value();
  if (options_.at_end && has_run && pending_signal() == 0)
    if (const int64_t step = read_global_step(session); step != timer_.last_triggered_step())
      write(session.run(request_), step);
  writer_->flush();
}

}  // namespace crochet::inline v0
