// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include "crochet/tracking/internal/columns.h"
#include "crochet/tracking/internal/type_shapes.h"

namespace crochet::inline v0::internal {

// Lists the elements of a sequence as columns, one a member, where all members are of a form that
// their types fix. A million elements then need no more names than one has.
struct ColumnWalk {
  // True for elements that may have such members.
  template <typename Here, typename T>
  static consteval bool may_list() {
    return Here::template lists_parts<T>() || Here::template can_be_member<T>() || PairLike<T> ||
           TupleLike<T> || kIsArray<T>;
  }

  // False, having listed nothing, if members are of another form, or the checkpoint has the
  // elements one by one. `first` is an element; of an empty sequence, one like those that would be
  // made; `resize` changes the number of elements, but in a plan.
  template <typename Here, typename T, typename Part, typename Resize>
  static bool list(Here& here, T& value, Part* first, const Resize& resize) {
    if (first == nullptr) return false;
    constexpr bool kHasAnySize = !std::is_same_v<Resize, std::nullptr_t>;
    Columns columns = {.name = here.name(), .members = members_of(here, *first)};
    const StoredParts stored = here.stored();
    const StoredParts layout = here.layout();
    if (layout.empty() ? !columns.members.are_columns() : !columns.members.are_stored(layout))
      return false;
    columns.present_rows = columns.num_rows =
        static_cast<size_t>(std::distance(std::begin(value), std::end(value)));
    columns.visit = visit_of(here, value);
    if (layout.empty() && !columns.are_alike()) return false;
    if constexpr (kHasAnySize) {
      columns.has_any_size = stored.empty() && !here.is_fixed_;
      if (!stored.empty() && !here.is_fixed_)
        columns.num_rows = columns.members.stored_rows(stored).value_or(columns.num_rows);
      if (columns.num_rows != columns.present_rows) resize(columns.num_rows);
    }
    here.visitor_->columns(here.prefix_, std::move(columns), here.is_fixed_);
    return true;
  }

  template <typename Here, typename Part>
  static ElementMembers members_of(const Here& here, Part& element) {
    MemberLister lister;
    Here tracker(here.graph_, &lister);
    tracker.track_element(element);
    return lister.take();
  }

  template <typename Here, typename T>
  static std::function<void(MemberVisitor&)> visit_of(const Here& here, T& value) {
    const auto visit = [graph = here.graph_](auto& elements, MemberVisitor& visitor) {
      Here tracker(graph, &visitor);
      for (auto& element : elements) {
        visitor.next_element();
        tracker.track_element(element);
      }
    };
    if constexpr (kIsSpan<T>) {  // It may be a temporary view.
      return [visit, value](MemberVisitor& visitor) { visit(value, visitor); };
    } else {
      return [visit, &value](MemberVisitor& visitor) { visit(value, visitor); };
    }
  }
};

}  // namespace crochet::inline v0::internal
