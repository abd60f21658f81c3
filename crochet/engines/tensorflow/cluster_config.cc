// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/cluster_spec.h"
#include "crochet/engines/tensorflow/internal/proto_reader.h"

namespace crochet::inline v0::tensorflow {
namespace {

// The fields of ConfigProto that matter here.
constexpr uint32_t kDeviceFilters = 4;
constexpr uint32_t kOperationTimeoutInMs = 11;
constexpr uint32_t kIsolateSessionState = 15;

}  // namespace

namespace internal {

std::chrono::milliseconds operation_timeout_of(std::string_view config) {
  int64_t limit = 0;
  try {
    ProtoReader(config, "ConfigProto").read(number_at(kOperationTimeoutInMs, limit));
  } catch (const DataLossError& error) {
    throw InvalidArgumentError(
        fmt::format("the settings of a session are not a ConfigProto: {}", error.what()));
  }
  return std::chrono::milliseconds(limit);
}

// If a field is repeated, the last one counts.
std::string with_operation_timeout(std::string config, std::chrono::milliseconds limit) {
  protozero::pbf_writer(config).add_int64(kOperationTimeoutInMs, limit.count());
  return config;
}

}  // namespace internal

SessionConfig cluster_config(const ClusterConfigOptions& options) {
  if (options.operation_timeout.count() <= 0)
    throw InvalidArgumentError(fmt::format("operation_timeout is {} ms, expected more than 0",
                                           options.operation_timeout.count()));
  internal::operation_timeout_of(options.base);
  std::string config = options.base;
  protozero::pbf_writer message(config);
  for (const std::string& filter : options.device_filters) {
    if (filter.empty() || !parse_device_name(filter))
      throw InvalidArgumentError(fmt::format("the filter \"{}\" is not a device", filter));
    message.add_string(kDeviceFilters, filter);
  }
  if (options.isolate_session_state) message.add_bool(kIsolateSessionState, true);
  return {internal::with_operation_timeout(std::move(config), options.operation_timeout)};
}

std::vector<std::string> filters_of_task(std::string_view job, int task,
                                         std::string_view variables_job) {
  return {fmt::format("/job:{}", variables_job), task_device(job, task)};
}

}  // namespace crochet::inline v0::tensorflow
