// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tracking/internal/columns.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/session/internal/nested_names.h"

namespace crochet::inline v0::internal {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Follows the elements, each of which has to list all columns, in order.
class RowVisitor : public MemberVisitor {
 public:
  RowVisitor(const ElementMembers& members, size_t num_rows)
      : columns_(members.columns),
        others_(members.others),
        num_rows_(num_rows),
        column_(columns_.size()) {}

  void next_element() final {
    if (column_ != columns_.size() || num_begun_ == num_rows_) return differ();
    ++num_begun_;
    column_ = 0;
  }
  void member(const ElementMember& member) final {
    if (differs_) return;
    if (column_ == columns_.size() || num_begun_ == 0 || !columns_[column_].has(member))
      return differ();
    take(column_++, member);
  }
  void other(const std::string& name) final {
    if (std::ranges::count(others_, name) == 0) differ();
  }

  // True if all elements were visited, and have just the columns.
  bool is_complete() const {
    return !differs_ && num_begun_ == num_rows_ && column_ == columns_.size();
  }
  // The element that differs, or that is missing.
  size_t first_other() const { return num_begun_ == 0 ? 0 : num_begun_ - 1; }

 protected:
  size_t row() const { return num_begun_ - 1; }
  virtual void take(size_t column, const ElementMember& member) = 0;

 private:
  void differ() { differs_ = true; }

  const std::vector<Column>& columns_;
  const std::vector<std::string>& others_;
  const size_t num_rows_;
  size_t num_begun_ = 0;
  size_t column_;  // The next one.
  bool differs_ = false;
};

class ComparingVisitor final : public RowVisitor {
  using RowVisitor::RowVisitor;
  void take(size_t, const ElementMember&) override {}
};

class CopyingVisitor final : public RowVisitor {
 public:
  // The elements of a column follow each other from `to`; texts go to `texts`.
  struct Place {
    std::byte* to = nullptr;
    std::vector<std::string> texts = {};
  };
  CopyingVisitor(const ElementMembers& members, size_t num_rows, std::vector<Place>& places)
      : RowVisitor(members, num_rows), places_(places) {}

 private:
  void take(size_t column, const ElementMember& member) override {
    Place& place = places_[column];
    if (member.dtype == DType::kString) {
      place.texts.push_back(*static_cast<const std::string*>(member.data));
      return;
    }
    if (member.array != nullptr)
      copy_out(*member.array, {place.to, member.num_bytes});
    else
      std::memcpy(place.to, member.data, member.num_bytes);
    place.to += member.num_bytes;
  }

  std::vector<Place>& places_;
};

class AssigningVisitor final : public RowVisitor {
 public:
  AssigningVisitor(const ElementMembers& members, size_t num_rows, size_t column,
                   const Tensor& values)
      : RowVisitor(members, num_rows), column_(column) {
    if (values.dtype() == DType::kString)
      texts_ = values.strings();
    else
      bytes_ = values.bytes();
  }

 private:
  void take(size_t column, const ElementMember& member) override {
    if (column != column_) return;
    if (member.dtype == DType::kString) {
      *static_cast<std::string*>(member.data) = texts_[row()];
      return;
    }
    const auto from = bytes_.subspan(row() * member.num_bytes, member.num_bytes);
    if (member.array != nullptr)
      fill_array(*member.array,
                 [&](std::span<std::byte> elements) { std::ranges::copy(from, elements.begin()); });
    else
      std::memcpy(member.data, from.data(), from.size());
  }

  const size_t column_;
  std::span<const std::byte> bytes_;
  std::span<const std::string> texts_;
};

std::string other_members(const std::string& name, const RowVisitor& visitor) {
  return fmt::format("\"{}\": element {} lists other members than the first", name,
                     visitor.first_other());
}

}  // namespace

std::string Column::full_name() const { return internal::full_name(owner, name); }

Shape Column::shape_of_rows(int64_t num_rows) const {
  std::vector<int64_t> sizes = {num_rows};
  sizes.insert(sizes.end(), shape.dimensions().begin(), shape.dimensions().end());
  return Shape(sizes);
}

bool Column::has(const ElementMember& member) const {
  return dtype == member.dtype && num_bytes == member.num_bytes && name == member.name &&
         owner == member.owner && (shape.rank() == 0 || shape == member.shape);
}

bool ElementMembers::are_stored(const StoredParts& stored) const {
  if (stored.find(kEmptyName) != nullptr) return false;
  if (std::ranges::any_of(columns, [&](const Column& column) {
        return stored.find(column.full_name()) != nullptr;
      }))
    return true;
  return std::ranges::none_of(stored.names(), is_number);
}

std::optional<size_t> ElementMembers::stored_rows(const StoredParts& stored) const {
  for (const Column& column : columns) {
    const StoredParts::Part* const found = stored.find(column.full_name());
    if (found == nullptr || found->shape.rank() == 0 || !found->shape.is_fully_known()) continue;
    // Elements take memory, so their number is bounded by stored bytes.
    const int64_t rows = found->shape[0];
    if (rows <= found->shape.num_elements()) return static_cast<size_t>(rows);
  }
  return std::nullopt;
}

void MemberLister::member(const ElementMember& member) {
  members_.columns.push_back({.owner = std::string(member.owner),
                              .name = std::string(member.name),
                              .dtype = member.dtype,
                              .shape = member.shape,
                              .num_bytes = member.num_bytes});
}

bool Columns::are_alike() const {
  ComparingVisitor visitor(members, present_rows);
  visit(visitor);
  return visitor.is_complete();
}

std::vector<Tensor> Columns::copies(const Lend& lend) const {
  std::vector<Tensor> copies;
  copies.reserve(members.columns.size());  // Inline elements stay where they are.
  std::vector<CopyingVisitor::Place> places(members.columns.size());
  for (size_t i = 0; i < members.columns.size(); ++i) {
    const Column& column = members.columns[i];
    const Shape shape = column.shape_of_rows(static_cast<int64_t>(num_rows));
    if (column.dtype == DType::kString) {
      copies.emplace_back();
      places[i].texts.reserve(num_rows);
    } else if (Tensor::num_bytes(column.dtype, shape) <= Tensor::kInlineBytes) {
      places[i].to = copies.emplace_back(column.dtype, shape).writable_bytes().data();
    } else {
      Lent lent = lend(i, shape);
      copies.push_back(std::move(lent.tensor));
      places[i].to = lent.data;
    }
  }
  CopyingVisitor visitor(members, num_rows, places);
  visit(visitor);
  if (!visitor.is_complete()) throw FailedPreconditionError(other_members(name, visitor));
  for (size_t i = 0; i < members.columns.size(); ++i)
    if (members.columns[i].dtype == DType::kString) copies[i] = Tensor::from(places[i].texts);
  return copies;
}

void Columns::assign(size_t column, const Tensor& values) const {
  if (values.dtype() == DType::kBool) static_cast<void>(values.flat<bool>());  // Checks them.
  AssigningVisitor visitor(members, num_rows, column, values);
  visit(visitor);
  if (!visitor.is_complete()) throw InvalidArgumentError(other_members(name, visitor));
}

}  // namespace crochet::inline v0::internal
