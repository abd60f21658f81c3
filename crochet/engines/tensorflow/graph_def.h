// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace crochet::tensorflow::internal {

// True if TensorFlow runs operations of this name: letters, digits and "_.\-/>", the first
// one a letter, a digit or a dot. TensorFlow takes others into a graph, which then fails in
// every run.
bool is_legal_operation_name(std::string_view name);

// True for "" and what TensorFlow understands: "/job:ps/task:0", "/device:CPU:0", "/cpu:0". With
// others it is as with names.
bool is_legal_device(std::string_view device);

// The node, in a prepared graph, whose value is the global step before the run's changes.
inline constexpr std::string_view kGlobalStepNode = "crochet/global_step";

// True for the types of operations that add to, or subtract from, the variable that they are given
// first.
bool is_adding(std::string_view type);

// The serialized GraphDef as it is imported, checked for what would break sessions later.
//
// If `global_step` names a variable of the graph, the node kGlobalStepNode is added, which reads
// it, and whatever adds to that variable waits for the read: so the step that is fetched together
// with a training step is always the one before. In functions and loops nothing is changed.
//
// Throws: DataLossError for bytes that are no GraphDef; InvalidArgumentError for illegal names and
// devices, and for a variable without a shared name beside another such: they would be one;
// UnimplementedError for operations that call functions of a Python program.
std::string prepare_graph_def(std::string_view graph_def, std::string_view global_step,
                              const std::string& file);

}  // namespace crochet::tensorflow::internal
