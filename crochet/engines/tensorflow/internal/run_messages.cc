// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/run_messages.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include <protozero/pbf_writer.hpp>

#include "crochet/engines/tensorflow/internal/proto_reader.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

// One NodeExecStats, its times since 1970.
struct NodeStats {
  OperationTiming timing;
  nanoseconds start = {};
};

// The inputs in "c = Add(a, b:1, ^d)", which may be preceded by "[alloc 2.0MB] ". Transfers to
// and from other devices, "(edge @/job:ps)", are not names of operations.
std::vector<std::string> inputs_in_label(std::string_view label) {
  std::vector<std::string> inputs;
  const size_t type = label.find(" = ");
  const size_t open = type == std::string_view::npos ? type : label.find('(', type);
  if (open == std::string_view::npos || !label.ends_with(')')) return inputs;
  std::string_view rest = label.substr(open + 1, label.size() - open - 2);
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(", "), rest.size());
    const std::string_view input = rest.substr(0, comma);
    if (input.find(' ') == std::string_view::npos) inputs.emplace_back(input);
    rest.remove_prefix(std::min(comma + 2, rest.size()));
  }
  return inputs;
}

int64_t read_requested_bytes(ProtoReader output) {
  int64_t bytes = 0;
  output.read(message_at(3, "tensor_description", [&](ProtoReader description) {
    description.read(message_at(4, "allocation_description",
                                [&](ProtoReader size) { size.read(number_at(1, bytes)); }));
  }));
  return bytes;
}

NodeStats read_node_stats(ProtoReader message) {
  NodeStats node;
  // In nanoseconds if the message has them.
  std::optional<nanoseconds> all_start, op_start, op_end;  // The last two relative to the first.
  const auto micros = [](std::optional<nanoseconds>& time) {
    return [&time](ProtoReader& value) {
      if (!time) time = microseconds(value.int64());
    };
  };
  const auto nanos = [](std::optional<nanoseconds>& time) {
    return [&time](ProtoReader& value) { time = nanoseconds(value.int64()); };
  };
  message.read(
      text_at(1, node.timing.name), varint_at(2, micros(all_start)), varint_at(3, micros(op_start)),
      varint_at(4, micros(op_end)),
      message_at(7, "output",
                 [&](ProtoReader output) {
                   node.timing.output_bytes += read_requested_bytes(std::move(output));
                 }),
      bytes_at(8, [&](ProtoReader& label) { node.timing.inputs = inputs_in_label(label.view()); }),
      number_at(10, node.timing.thread), varint_at(13, nanos(all_start)),
      varint_at(14, nanos(op_start)), varint_at(15, nanos(op_end)));
  const nanoseconds start = op_start.value_or(nanoseconds(0));
  node.start = all_start.value_or(nanoseconds(0)) + start;
  node.timing.duration = std::max(op_end.value_or(nanoseconds(0)) - start, nanoseconds(0));
  return node;
}

void read_device(ProtoReader message, std::vector<NodeStats>& nodes) {
  std::string device;
  const size_t first = nodes.size();
  message.read(text_at(1, device), message_at(2, "node_stats", [&](ProtoReader node) {
                 nodes.push_back(read_node_stats(std::move(node)));
               }));
  for (size_t i = first; i < nodes.size(); ++i) nodes[i].timing.device = device;
}

void add_debug_options(protozero::pbf_writer& message, const RunOptions& options) {
  if (options.debug_tensor_watches.empty() && !options.reset_disk_byte_usage) return;
  protozero::pbf_writer debug(message, 6);
  for (const std::string& watch : options.debug_tensor_watches) debug.add_message(4, watch);
  if (options.reset_disk_byte_usage) debug.add_bool(11, true);
}

}  // namespace

std::string serialize(const RunOptions& options) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  if (options.trace_level != TraceLevel::kNone)
    message.add_enum(1, static_cast<int32_t>(options.trace_level));
  if (options.timeout_in_ms != 0) message.add_int64(2, options.timeout_in_ms);
  if (options.inter_op_thread_pool != 0) message.add_int32(3, options.inter_op_thread_pool);
  if (options.output_partition_graphs) message.add_bool(5, true);
  add_debug_options(message, options);
  if (options.report_tensor_allocations_upon_oom) message.add_bool(7, true);
  return bytes;
}

RunMetadata parse_run_metadata(std::string_view bytes) {
  RunMetadata metadata;
  std::vector<NodeStats> nodes;
  ProtoReader(bytes, "RunMetadata")
      .read(message_at(1, "step_stats",
                       [&](ProtoReader stats) {
                         stats.read(message_at(1, "dev_stats", [&](ProtoReader device) {
                           read_device(std::move(device), nodes);
                         }));
                       }),
            texts_at(3, metadata.partition_graphs));
  std::ranges::stable_sort(nodes, {}, &NodeStats::start);
  if (nodes.empty()) return metadata;
  const nanoseconds start = nodes.front().start;
  metadata.start_time = std::chrono::duration<double>(start).count();
  for (NodeStats& node : nodes) {
    node.timing.start = node.start - start;
    metadata.operations.push_back(std::move(node.timing));
  }
  return metadata;
}

}  // namespace crochet::inline v0::tensorflow::internal
