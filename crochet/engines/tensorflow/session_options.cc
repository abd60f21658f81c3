// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/session_options.h"

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/status.h"

namespace crochet::tensorflow::internal {

SessionOptionsPtr session_options(const std::string& target, const std::string& config) {
  SessionOptionsPtr options(TF_NewSessionOptions());
  Status status;
  TF_SetConfig(options.get(), config.data(), config.size(), status.get());
  if (!status.ok()) throw InvalidArgumentError("the settings of a session are no ConfigProto");
  TF_SetTarget(options.get(), target.c_str());
  return options;
}

}  // namespace crochet::tensorflow::internal
