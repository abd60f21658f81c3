// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace crochet::inline v0::tensorflow::internal {

// Of ASCII, of which TensorFlow's names consist.
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// True if TensorFlow can run operations of this name: letters, digits and "_.\-/>", beginning
// with a letter, a digit or a dot. TensorFlow accepts other names in a graph, which then fails in
// every run.
bool is_legal_operation_name(std::string_view name);

// The operation of a tensor: "w1" for "w1:0".
inline std::string_view without_index(std::string_view tensor) {
  return tensor.substr(0, tensor.rfind(':'));
}

// True for "" and valid device names: "/job:ps/task:0", "/device:CPU:0", "/cpu:0". Others fail
// like illegal operation names.
bool is_legal_device(std::string_view device);

// The node, in a prepared graph, whose value is the global step before the run's changes.
inline constexpr std::string_view kGlobalStepNode = "crochet/global_step";

// True for the types of operations that add to, or subtract from, the variable that is their first
// input.
bool is_adding(std::string_view type);

// The serialized GraphDef to import, checked for errors that would break sessions later.
//
// If `global_step` names a variable of the graph, adds the node kGlobalStepNode, which reads
// it, and makes operations that add to that variable wait for the read: so the step fetched in a
// training run is always the one before it. Functions and loops are not changed.
//
// Throws: DataLossError for bytes that are not a GraphDef; InvalidArgumentError for illegal names
// and devices, and for two variables without a shared_name, as they would be the same one;
// UnimplementedError for operations that call functions of a Python program.
std::string prepare_graph_def(std::string_view graph_def, std::string_view global_step,
                              const std::string& file);

}  // namespace crochet::inline v0::tensorflow::internal
