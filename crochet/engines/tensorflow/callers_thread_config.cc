// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <protozero/pbf_writer.hpp>

#include "crochet/engines/tensorflow/session.h"

namespace crochet::inline v0::tensorflow {
namespace {

// The field of ConfigProto with the number of threads that runs share; negative: the caller's.
constexpr uint32_t kInterOpParallelismThreads = 5;

}  // namespace

SessionConfig callers_thread_config(std::string base) {
  protozero::pbf_writer(base).add_int32(kInterOpParallelismThreads, -1);
  return {std::move(base)};
}

}  // namespace crochet::inline v0::tensorflow
