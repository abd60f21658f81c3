// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "crochet/engines/tensorflow/graph.h"
#include "crochet/engines/tensorflow/internal/c_api.h"

namespace crochet::inline v0::tensorflow::internal {

// The functions among an operation's attributes.
std::vector<Function> functions_in(const Attributes& attributes);

// Checks the functions of an If, a Case, a While or a call against its inputs and
// outputs: TensorFlow does so only in the run, if at all. Adds the attribute "Tout", which follows
// from them, if it is missing.
//
// `inputs`: the outputs it takes, a list of one for a single value.
// Throws: InvalidArgumentError if a function takes, or returns, values of other types.
void apply_function_rules(const std::string& type, const std::string& name,
                          const std::vector<std::vector<TF_Output>>& inputs,
                          Attributes& attributes);

}  // namespace crochet::inline v0::tensorflow::internal
