// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/internal/proto_reader.h"
#include "crochet/engines/tensorflow/session.h"

namespace crochet::inline v0::tensorflow {
namespace {

// Fields of ConfigProto and of its `experimental`.
constexpr uint32_t kInterOpParallelismThreads = 5;
constexpr uint32_t kExperimental = 16;
constexpr uint32_t kExecutorType = 3;

constexpr std::string_view kSingleThreaded = "SINGLE_THREADED_EXECUTOR";

}  // namespace

// Repeated messages are merged.
SessionConfig single_threaded_config(std::string base) {
  std::string experimental;
  protozero::pbf_writer(experimental)
      .add_string(kExecutorType, kSingleThreaded.data(), kSingleThreaded.size());
  protozero::pbf_writer(base).add_message(kExperimental, experimental);
  return {std::move(base)};
}

namespace internal {

// If a field is repeated, the last one counts.
bool is_single_threaded(std::string_view config) {
  std::string executor;
  int32_t num_threads = 0;
  try {
    ProtoReader(config, "ConfigProto")
        .read(number_at(kInterOpParallelismThreads, num_threads),
              message_at(kExperimental, "experimental", [&](ProtoReader experimental) {
                experimental.read(text_at(kExecutorType, executor));
              }));
  } catch (const DataLossError& error) {
    throw InvalidArgumentError(
        fmt::format("the settings of a session are not a ConfigProto: {}", error.what()));
  }
  if (executor != kSingleThreaded) return false;
  if (num_threads < 0)
    throw InvalidArgumentError(fmt::format(
        "the settings of a session ask for {} with inter_op_parallelism_threads = {}: no run of it "
        "could time out; expected one of them",
        kSingleThreaded, num_threads));
  return true;
}

}  // namespace internal
}  // namespace crochet::inline v0::tensorflow
