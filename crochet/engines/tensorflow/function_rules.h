// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "crochet/engines/tensorflow/attribute.h"
#include "crochet/engines/tensorflow/c_api.h"

namespace crochet::tensorflow::internal {

// The functions that an operation is given.
std::vector<Function> functions_in(const Attributes& attributes);

// Compares the functions that an If, a Case, a While or a call is given with its inputs and
// outputs: TensorFlow does so in the run, if at all. What follows from them, "Tout", is added where
// it is not given.
//
// `inputs`: the places, a list of one for a single value.
// Throws: InvalidArgumentError if a function takes, or gives, values of other types.
void apply_function_rules(const std::string& type, const std::string& name,
                          const std::vector<std::vector<TF_Output>>& inputs,
                          Attributes& attributes);

}  // namespace crochet::tensorflow::internal
