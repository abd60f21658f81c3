// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/copies/borrowed_array.h"
#include "crochet/session/parted_saveable.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::internal {

// A member of an element of a sequence: numbers whose type and shape the member's type fixes, or a
// std::string.
struct ElementMember {
  std::string_view owner;  // The part of the element that has it; empty for the element itself.
  std::string_view name;
  DType dtype;
  const Shape& shape;
  size_t num_bytes;
  void* data;
  const ArrayView* array = nullptr;  // Set if the numbers may have another order in memory.
};

// Receives the members of one element after another.
class CROCHET_EXPORT MemberVisitor {
 public:
  virtual ~MemberVisitor() = default;
  // The members of the next element follow.
  virtual void next_element() {}
  virtual void member(const ElementMember& member) = 0;
  // A part that no column can have: its size or structure may differ from element to element.
  virtual void other(const std::string& name) = 0;
};

// A member of all elements of a sequence as one array, whose first dimension counts the elements.
struct CROCHET_EXPORT Column {
  std::string owner;  // As that of the members.
  std::string name;
  DType dtype = DType::kInvalid;
  Shape shape = {};  // Of the member of one element.
  size_t num_bytes = 0;

  std::string full_name() const;
  Shape shape_of_rows(int64_t num_rows) const;
  bool has(const ElementMember& member) const;
};

// What the elements of a sequence list, by one of them.
struct CROCHET_EXPORT ElementMembers {
  std::vector<Column> columns;
  std::vector<std::string> others;  // The names of what no column can have.

  bool are_columns() const { return others.empty() && !columns.empty(); }
  // True if a checkpoint that has `stored` has them as columns, and not element by element: "0/x".
  bool are_stored(const StoredParts& stored) const;
  // How many elements are stored; unset if the checkpoint has none of the columns.
  std::optional<size_t> stored_rows(const StoredParts& stored) const;
};

// Lists members.
class CROCHET_EXPORT MemberLister final : public MemberVisitor {
 public:
  void member(const ElementMember& member) override;
  void other(const std::string& name) override { members_.others.push_back(name); }

  ElementMembers take() { return std::move(members_); }

 private:
  ElementMembers members_;
};

// The elements of a sequence as columns.
struct CROCHET_EXPORT Columns {
  std::string name;  // Of the sequence, for messages.
  ElementMembers members = {};
  size_t present_rows = 0;    // Now, or in a restore, before it.
  size_t num_rows = 0;        // After a restore, if this is one.
  bool has_any_size = false;  // The number of elements may be another one in a checkpoint.
  // Visits all elements, in order.
  std::function<void(MemberVisitor& visitor)> visit = {};

  // True if each element lists the same members.
  bool are_alike() const;

  struct Lent {
    Tensor tensor;    // With undefined contents.
    std::byte* data;  // Its elements.
  };
  using Lend = std::function<Lent(size_t column, const Shape& shape)>;
  // Copies of the columns; large ones in memory that `lend` returns.
  // Throws: FailedPreconditionError if an element lists other members than it did before.
  std::vector<Tensor> copies(const Lend& lend) const;
  // Gives the members of one column their values. Throws: InvalidArgumentError if an element lists
  // other members.
  void assign(size_t column, const Tensor& values) const;
};

}  // namespace crochet::inline v0::internal
