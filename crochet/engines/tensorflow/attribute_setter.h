// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/engines/tensorflow/attribute.h"
#include "crochet/engines/tensorflow/c_api.h"

namespace crochet::tensorflow::internal {

// Gives an operation that is being described one attribute; `what` is its place for messages.
// Requires: functions are set, and in the graph.
// Throws: InvalidArgumentError for a type that is none, a shape of more dimensions than
// TensorFlow has, an unset tensor and one too large for a graph; what TensorFlow says.
void set_attribute(TF_OperationDescription* description, const char* name, const Attribute& value,
                   const std::string& what);

}  // namespace crochet::tensorflow::internal
