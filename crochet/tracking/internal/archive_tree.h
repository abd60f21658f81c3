// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::internal {

// What the archive of a serialisation library writes and reads of one object: a tree of nodes with
// names, whose leaves are tensors. Its names are those of the leaves, "layer/weights". Children
// without a name are "value0", "value1", ... in their order, as in the JSON of cereal. A node that
// is nothing but an array is that array.

// The next child's name, by what was called before it.
class CROCHET_EXPORT ArchiveNames {
 public:
  void next(std::string_view name) { next_ = name; }
  // The full name of the next child.
  std::string take();
  // The first one is the object itself, and has no name.
  void begin_node();
  void end_node();
  const std::string& path() const { return nodes_.back().path; }
  bool is_outside() const { return nodes_.empty(); }

 private:
  struct Node {
    std::string path;
    int num_unnamed = 0;
  };

  std::vector<Node> nodes_;
  std::string next_;
};

class CROCHET_EXPORT ArchiveTreeWriter {
 public:
  void next_name(std::string_view name) { names_.next(name); }
  void begin_node();
  void end_node();
  // Throws: InvalidArgumentError for a name that the node has already.
  void add(Tensor value);
  // Numbers in one piece of memory.
  void add_array(DType dtype, std::span<const std::byte> values);
  void add_size(uint64_t size);
  // The tensors. The writer is done.
  TensorMap take();

 private:
  struct Array {
    std::string name;  // Empty if the node has none, or something else.
    int num_children = 0;
  };

  void put(std::string name, Tensor value);

  ArchiveNames names_;
  std::vector<Array> arrays_;  // Of each open node.
  TensorMap tensors_;
};

// Each function throws InvalidArgumentError that names what is missing or of another type or size.
class CROCHET_EXPORT ArchiveTreeReader {
 public:
  // Requires: `tensors` outlives this.
  explicit ArchiveTreeReader(const TensorMap& tensors) : tensors_(tensors) {}

  void next_name(std::string_view name) { names_.next(name); }
  void begin_node();
  void end_node();
  // The next value, a scalar.
  const Tensor& take(DType dtype);
  void take_array(DType dtype, std::span<std::byte> values);
  // How many elements follow. Never more than are stored.
  uint64_t take_size();
  // Throws if something was not read.
  void check_all_is_read() const;

 private:
  const Tensor& find(const std::string& name);

  const TensorMap& tensors_;
  ArchiveNames names_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace crochet::inline v0::internal
