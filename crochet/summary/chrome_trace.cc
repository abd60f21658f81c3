// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "crochet/base/clock.h"
#include "crochet/base/internal/json_text.h"
#include "crochet/summary/internal/traced_run.h"

namespace crochet::inline v0 {
namespace {

using std::chrono::nanoseconds;

double micros(nanoseconds time) { return static_cast<double>(time.count()) / 1000; }

nanoseconds end_of(const OperationTiming& operation) {
  return operation.start + operation.duration;
}

// "dense" for "dense:1" and "^dense".
std::string_view operation_name(std::string_view input) {
  if (input.starts_with('^')) input.remove_prefix(1);
  const size_t colon = input.rfind(':');
  const bool has_index = colon != input.npos && colon + 1 < input.size() &&
                         input.find_first_not_of("0123456789", colon + 1) == input.npos;
  return has_index ? input.substr(0, colon) : input;
}

class TraceBuilder {
 public:
  TraceBuilder() {
    trace_.begin_object();
    trace_.key("traceEvents");
    trace_.begin_list();
  }

  // What follows is of this run.
  void begin_run(const internal::TracedRun& run) {
    run_ = &run.metadata;
    offset_ = run.start;
    if (start_time_ == 0) start_time_ = run.metadata.start_time - to_seconds(run.start);
  }

  void name_processes_and_threads() {
    for (const OperationTiming& operation : run_->operations) {
      const auto [device, is_new] =
          processes_.try_emplace(operation.device, static_cast<int64_t>(processes_.size()) + 1);
      if (is_new)
        add_name("process_name", device->second, 0,
                 operation.device.empty() ? "run" : operation.device);
      if (threads_.emplace(device->second, operation.thread).second)
        add_name("thread_name", device->second, operation.thread,
                 "thread " + std::to_string(operation.thread));
    }
  }

  void add_operations() {
    for (const OperationTiming& operation : run_->operations) {
      begin_event("X", operation.name, "operation", operation, operation.start);
      trace_.member("dur", micros(operation.duration));
      trace_.key("args");
      trace_.begin_object();
      trace_.member("name", operation.name);
      trace_.key("inputs");
      trace_.begin_list();
      for (const std::string& input : operation.inputs) trace_.add(input);
      trace_.end_list();
      trace_.member("output_bytes", operation.output_bytes);
      trace_.end_object();
      trace_.end_object();
    }
  }

  void add_dataflow() {
    for_each_edge([&](const OperationTiming& from, const OperationTiming& to) {
      // An arrow belongs to the operation that runs at its time, which excludes the end.
      const nanoseconds leaves =
          end_of(from) - std::min(from.duration, nanoseconds(from.duration.count() > 0 ? 1 : 0));
      begin_event("s", from.name, "dataflow", from, leaves);
      trace_.member("id", ++num_arrows_);
      trace_.end_object();
      begin_event("f", from.name, "dataflow", to, to.start);
      trace_.member("id", num_arrows_);
      trace_.member("bp", "e");  // Binds to the enclosing operation, not to the next one.
      trace_.end_object();
    });
  }

  void add_memory() {
    std::map<const OperationTiming*, nanoseconds> needed_until;
    for_each_edge([&](const OperationTiming& from, const OperationTiming& to) {
      nanoseconds& until = needed_until[&from];
      until = std::max(until, end_of(to));
    });
    std::map<std::pair<std::string, nanoseconds>, int64_t> changes;
    for (const OperationTiming& operation : run_->operations) {
      changes[{operation.device, end_of(operation)}] += operation.output_bytes;
      if (const auto until = needed_until.find(&operation); until != needed_until.end())
        changes[{operation.device, until->second}] -= operation.output_bytes;
    }
    std::map<std::string, int64_t> live;
    for (const auto& [place, change] : changes)
      add_memory_in_use(place.first, place.second, live[place.first] += change);
  }

  void add_spans(std::span<const internal::TraceSpan> spans) {
    if (spans.empty()) return;
    const int64_t process = static_cast<int64_t>(processes_.size()) + 1;
    add_name("process_name", process, 0, "crochet");
    std::map<std::string_view, int64_t> tracks;
    for (const internal::TraceSpan& span : spans) {
      const auto [track, is_new] =
          tracks.try_emplace(span.track, static_cast<int64_t>(tracks.size()) + 1);
      if (is_new) add_name("thread_name", process, track->second, span.track);
      trace_.begin_object();
      trace_.member("ph", "X");
      trace_.member("name", span.name);
      trace_.member("cat", "crochet");
      trace_.member("pid", process);
      trace_.member("tid", track->second);
      trace_.member("ts", micros(span.start));
      trace_.member("dur", micros(span.duration));
      trace_.end_object();
    }
  }

  std::string finish() {
    trace_.end_list();
    trace_.member("displayTimeUnit", "ns");
    trace_.key("otherData");
    trace_.begin_object();
    trace_.member("start_time", start_time_);
    trace_.end_object();
    trace_.end_object();
    return trace_.take();
  }

 private:
  void add_name(const char* what, int64_t process, int64_t thread, const std::string& name) {
    trace_.begin_object();
    trace_.member("ph", "M");
    trace_.member("name", what);
    trace_.member("pid", process);
    trace_.member("tid", thread);
    add_argument("name", name);
    trace_.end_object();
  }

  void add_memory_in_use(const std::string& device, nanoseconds time, int64_t num_bytes) {
    trace_.begin_object();
    trace_.member("ph", "C");
    trace_.member("name", "memory");
    trace_.member("pid", processes_.at(device));
    trace_.member("ts", micros(offset_ + time));
    add_argument("bytes", num_bytes);
    trace_.end_object();
  }

  // The only one of an event.
  template <typename Value>
  void add_argument(const char* name, const Value& value) {
    trace_.key("args");
    trace_.begin_object();
    trace_.member(name, value);
    trace_.end_object();
  }

  // Begins an object to which members may be added.
  void begin_event(const char* phase, const std::string& name, const char* category,
                   const OperationTiming& operation, nanoseconds time) {
    trace_.begin_object();
    trace_.member("ph", phase);
    trace_.member("name", name);
    trace_.member("cat", category);
    trace_.member("pid", processes_.at(operation.device));
    trace_.member("tid", operation.thread);
    trace_.member("ts", micros(offset_ + time));
  }

  // Calls `visit` for each value passed from one operation of the trace to another.
  void for_each_edge(const auto& visit) const {
    std::map<std::string_view, const OperationTiming*> began;
    for (const OperationTiming& operation : run_->operations) {
      for (const std::string& input : operation.inputs)
        if (const auto from = began.find(operation_name(input)); from != began.end())
          visit(*from->second, operation);
      began[operation.name] = &operation;
    }
  }

  const RunMetadata* run_ = nullptr;
  nanoseconds offset_ = {};  // Of the run.
  double start_time_ = 0;    // Of the trace, in seconds since 1970-01-01 UTC.
  int64_t num_arrows_ = 0;
  std::map<std::string, int64_t> processes_;  // By device.
  std::set<std::pair<int64_t, int64_t>> threads_;
  internal::JsonText trace_;
};

}  // namespace

std::string internal::chrome_trace(std::span<const TracedRun> runs,
                                   std::span<const TraceSpan> spans,
                                   const ChromeTraceOptions& options) {
  TraceBuilder builder;
  for (const TracedRun& run : runs) {
    builder.begin_run(run);
    builder.name_processes_and_threads();
    builder.add_operations();
    if (options.show_dataflow) builder.add_dataflow();
    if (options.show_memory) builder.add_memory();
  }
  builder.add_spans(spans);
  return builder.finish();
}

}  // namespace crochet::inline v0
