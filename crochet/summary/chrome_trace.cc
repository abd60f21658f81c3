// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "crochet/summary/traced_run.h"

namespace crochet::inline v0 {
namespace {

using Json = nlohmann::ordered_json;
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
  explicit TraceBuilder(const RunMetadata& run) : run_(run) {}

  void name_processes_and_threads() {
    for (const OperationTiming& operation : run_.operations) {
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
    for (const OperationTiming& operation : run_.operations) {
      Json event = event_of("X", operation.name, "operation", operation, operation.start);
      event["dur"] = micros(operation.duration);
      event["args"] = {{"name", operation.name},
                       {"inputs", operation.inputs},
                       {"output_bytes", operation.output_bytes}};
      events_.push_back(std::move(event));
    }
  }

  void add_dataflow() {
    int64_t id = 0;
    for_each_edge([&](const OperationTiming& from, const OperationTiming& to) {
      // An arrow belongs to the operation that runs at its time, which excludes the end.
      const nanoseconds leaves =
          end_of(from) - std::min(from.duration, nanoseconds(from.duration.count() > 0 ? 1 : 0));
      Json start = event_of("s", from.name, "dataflow", from, leaves);
      start["id"] = ++id;
      events_.push_back(std::move(start));
      Json finish = event_of("f", from.name, "dataflow", to, to.start);
      finish["id"] = id;
      finish["bp"] = "e";  // Binds to the enclosing operation, not to the next one.
      events_.push_back(std::move(finish));
    });
  }

  void add_memory() {
    std::map<const OperationTiming*, nanoseconds> needed_until;
    for_each_edge([&](const OperationTiming& from, const OperationTiming& to) {
      nanoseconds& until = needed_until[&from];
      until = std::max(until, end_of(to));
    });
    std::map<std::pair<std::string, nanoseconds>, int64_t> changes;
    for (const OperationTiming& operation : run_.operations) {
      changes[{operation.device, end_of(operation)}] += operation.output_bytes;
      if (const auto until = needed_until.find(&operation); until != needed_until.end())
        changes[{operation.device, until->second}] -= operation.output_bytes;
    }
    std::map<std::string, int64_t> live;
    for (const auto& [place, change] : changes) {
      const auto& [device, time] = place;
      events_.push_back({{"ph", "C"},
                         {"name", "memory"},
                         {"pid", processes_.at(device)},
                         {"ts", micros(time)},
                         {"args", {{"bytes", live[device] += change}}}});
    }
  }

  std::string finish() {
    const Json trace = {{"traceEvents", std::move(events_)},
                        {"displayTimeUnit", "ns"},
                        {"otherData", {{"start_time", run_.start_time}}}};
    constexpr int kOneLine = -1;
    return trace.dump(kOneLine, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  }

 private:
  void add_name(const char* what, int64_t process, int64_t thread, const std::string& name) {
    events_.push_back({{"ph", "M"},
                       {"name", what},
                       {"pid", process},
                       {"tid", thread},
                       {"args", {{"name", name}}}});
  }

  Json event_of(const char* phase, const std::string& name, const char* category,
                const OperationTiming& operation, nanoseconds time) const {
    return {{"ph", phase},
            {"name", name},
            {"cat", category},
            {"pid", processes_.at(operation.device)},
            {"tid", operation.thread},
            {"ts", micros(time)}};
  }

  // Calls `visit` for each value passed from one operation of the trace to another.
  void for_each_edge(const auto& visit) const {
    std::map<std::string_view, const OperationTiming*> began;
    for (const OperationTiming& operation : run_.operations) {
      for (const std::string& input : operation.inputs)
        if (const auto from = began.find(operation_name(input)); from != began.end())
          visit(*from->second, operation);
      began[operation.name] = &operation;
    }
  }

  const RunMetadata& run_;
  std::map<std::string, int64_t> processes_;  // By device.
  std::set<std::pair<int64_t, int64_t>> threads_;
  Json events_ = Json::array();
};

}  // namespace

std::string chrome_trace(const RunMetadata& run, const ChromeTraceOptions& options) {
  TraceBuilder builder(run);
  builder.name_processes_and_threads();
  builder.add_operations();
  if (options.show_dataflow) builder.add_dataflow();
  if (options.show_memory) builder.add_memory();
  return builder.finish();
}

}  // namespace crochet::inline v0
