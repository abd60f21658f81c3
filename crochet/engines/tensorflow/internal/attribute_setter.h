// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/engines/tensorflow/graph.h"
#include "crochet/engines/tensorflow/internal/c_api.h"

namespace crochet::inline v0::tensorflow::internal {

// Sets one attribute of an operation under construction; `what` names it in messages.
// Requires: functions are set, and in the graph.
// Throws: InvalidArgumentError for an invalid type, a shape of more dimensions than
// TensorFlow supports, an unset tensor and one too large for a graph; TensorFlow's errors.
void set_attribute(TF_OperationDescription* description, const char* name, const Attribute& value,
                   const std::string& what);

}  // namespace crochet::inline v0::tensorflow::internal
