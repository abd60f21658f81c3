// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/session_options.h"

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/internal/proto_reader.h"
#include "crochet/engines/tensorflow/internal/status.h"

namespace crochet::inline v0::tensorflow::internal {

namespace {

// Fields of ConfigProto, and of a pool of threads.
constexpr uint32_t kThreadPool = 12;
constexpr uint32_t kNumThreads = 1;

// TensorFlow aborts the process for a pool with a negative number of threads.
void check_thread_pools(std::string_view config) {
  const auto check = [](ProtoReader& number) {
    if (const auto num_threads = static_cast<int32_t>(number.int64()); num_threads < 0)
      throw InvalidArgumentError(fmt::format(
          "the settings of a session ask for a pool of {} threads (session_inter_op_thread_pool); "
          "expected at least 0",
          num_threads));
  };
  ProtoReader(config, "ConfigProto")
      .read(message_at(kThreadPool, "session_inter_op_thread_pool",
                       [&](ProtoReader pool) { pool.read(varint_at(kNumThreads, check)); }));
}

}  // namespace

SessionOptionsPtr session_options(const std::string& target, const std::string& config) {
  SessionOptionsPtr options(TF_NewSessionOptions());
  Status status;
  TF_SetConfig(options.get(), config.data(), config.size(), status.get());
  if (!status.ok()) throw InvalidArgumentError("the settings of a session are not a ConfigProto");
  check_thread_pools(config);
  TF_SetTarget(options.get(), target.c_str());
  return options;
}

}  // namespace crochet::inline v0::tensorflow::internal
