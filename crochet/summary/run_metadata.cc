// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "crochet/base/internal/proto_fields.h"
#include "crochet/summary/internal/traced_run.h"

namespace crochet::inline v0 {
namespace {

using namespace internal;

// Field numbers of TensorFlow's config.proto and step_stats.proto.
enum class RunMetadataField { kStepStats = 1 };
enum class StepStatsField { kDeviceStats = 1 };
enum class DeviceField { kDevice = 1, kNodeStats = 2 };
enum class NodeField {
  kName = 1,
  kAllStartMicros = 2,
  kStartMicros = 3,
  kEndMicros = 4,
  kAllEndMicros = 5,
  kMemory = 6,
  kLabel = 8,
  kThread = 10,
  kAllStartNanos = 13,
  kStartNanos = 14,
  kEndNanos = 15,
  kAllEndNanos = 16,
};
enum class MemoryField { kTotalBytes = 2 };

std::string encode_operation(const OperationTiming& operation, std::chrono::nanoseconds run_start) {
  using std::chrono::duration_cast, std::chrono::microseconds;
  const std::chrono::nanoseconds start = run_start + operation.start;
  const int64_t micros = duration_cast<microseconds>(operation.duration).count();
  std::string bytes;
  protozero::pbf_writer message(bytes);
  message.add_string(number(NodeField::kName), operation.name);
  add_int_unless_zero(message, NodeField::kAllStartMicros,
                      duration_cast<microseconds>(start).count());
  add_int_unless_zero(message, NodeField::kEndMicros, micros);
  add_int_unless_zero(message, NodeField::kAllEndMicros, micros);
  if (operation.output_bytes != 0) {
    protozero::pbf_writer memory(message, number(NodeField::kMemory));
    memory.add_int64(number(MemoryField::kTotalBytes), operation.output_bytes);
  }
  message.add_string(number(NodeField::kLabel), operation.name);
  if (operation.thread != 0)
    message.add_uint32(number(NodeField::kThread), static_cast<uint32_t>(operation.thread));
  add_int_unless_zero(message, NodeField::kAllStartNanos, start.count());
  add_int_unless_zero(message, NodeField::kEndNanos, operation.duration.count());
  add_int_unless_zero(message, NodeField::kAllEndNanos, operation.duration.count());
  return bytes;
}

}  // namespace

std::string internal::encode_run_metadata(const RunMetadata& run) {
  const std::chrono::nanoseconds start(static_cast<int64_t>(run.start_time * 1e6) * 1000);
  std::map<std::string, std::string> devices;
  for (const OperationTiming& operation : run.operations)
    protozero::pbf_writer(devices[operation.device])
        .add_message(number(DeviceField::kNodeStats), encode_operation(operation, start));
  std::string step_stats;
  for (const auto& [name, nodes] : devices) {
    std::string device;
    protozero::pbf_writer(device).add_string(number(DeviceField::kDevice), name);
    protozero::pbf_writer(step_stats)
        .add_message(number(StepStatsField::kDeviceStats), device + nodes);
  }
  std::string bytes;
  protozero::pbf_writer(bytes).add_message(number(RunMetadataField::kStepStats), step_stats);
  return bytes;
}

}  // namespace crochet::inline v0
