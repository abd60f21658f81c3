// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tracking/tracker.h"

#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/saver/internal/initial_values.h"
#include "crochet/session/internal/nested_names.h"
#include "crochet/session/internal/rank_layout.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/tracking/epochs.h"
#include "crochet/tracking/internal/fixed_state.h"
#include "crochet/tracking/internal/provided_state.h"
#include "crochet/tracking/internal/rows_state.h"
#include "crochet/tracking/internal/tracked_epochs.h"

namespace crochet::inline v0 {
namespace {

// Adds to the graph, whose error about a name that is taken does not know of trackers.
template <typename Add>
void add_as(const std::string& name, const Add& add) {
  try {
    add();
  } catch (const AlreadyExistsError&) {
    throw AlreadyExistsError(
        fmt::format("Loop::track: \"{}\" is tracked already; choose another name", name));
  }
}

Tensor copy_of(const ArrayView& array) {
  Tensor copy(array.dtype, array.shape);
  copy_out(array, copy.writable_bytes());
  return copy;
}

// A list whose elements own each other is deeper than that, and would overflow the stack.
constexpr int kMaxDepth = 200;

}  // namespace

Tracker::Tracker(local::Graph* graph, internal::PartVisitor* visitor, std::string prefix, int depth)
    : graph_(graph), visitor_(visitor), prefix_(std::move(prefix)), depth_(depth) {
  if (depth > kMaxDepth)
    throw FailedPreconditionError(fmt::format(
        "\"{:.200}...\" is tracked {} parts deep: is there a cycle of pointers?", prefix_, depth));
}

std::string_view Tracker::checked(std::string_view name) const {
  if (name.empty())
    throw InvalidArgumentError(fmt::format("a part of \"{}\" is tracked without a name", prefix_));
  return name;
}

std::string Tracker::full_name(std::string_view name) const {
  checked(name);
  if (shard_ != nullptr)
    throw InvalidArgumentError(
        fmt::format("sharded(): \"{}\" has parts, expected one array", prefix_));
  return internal::full_name(prefix_, name);
}

namespace {

// True for an object that is saved as one vector of numbers.
bool is_list(const Saveable& object) {
  const auto rows = object.rows();
  return rows && !rows->key_column && rows->present.size() == 1 &&
         rows->present.begin()->second.dtype() != DType::kString;
}

void check_is_fixed(const internal::PartVisitor* visitor, const std::string& name) {
  if (visitor != nullptr)
    throw FailedPreconditionError(fmt::format(
        "\"{}\" is tracked by sharded() or per_rank() within a container, an optional or another "
        "value whose structure may change: track it by itself",
        visitor->full_name(name)));
}

}  // namespace

Tracker Tracker::at_part(const Shard& shard) const {
  if (members_ != nullptr) {
    members_->other(prefix_);
    return *this;
  }
  check_is_fixed(visitor_, prefix_);
  Tracker here = *this;
  here.shard_ = &shard;
  return here;
}

Tracker Tracker::at_rank(Regroup regroup) const {
  if (members_ != nullptr) {
    members_->other(prefix_);
    return *this;
  }
  check_is_fixed(visitor_, prefix_);
  return {graph_, visitor_, internal::RankLayout::of(*graph_)->add_per_rank(prefix_, regroup),
          depth_ + 1};
}

void Tracker::add_rows(std::function<void(Tracker& here)> visit) {
  if (members_ != nullptr) return members_->other(prefix_);
  check_is_fixed(visitor_, prefix_);
  const auto list = [visit = std::move(visit)](Tracker& here) {
    here.has_rows_ = true;
    visit(here);
  };
  auto parts = std::make_shared<internal::ProvidedState>(*graph_, prefix_, list);
  add_own_object(std::make_shared<internal::RowsState>(prefix_, std::move(parts)));
  internal::RankLayout::of(*graph_)->add_rows(prefix_);
}

void Tracker::check_needs_no_rows(std::string_view found) const {
  if (has_rows_)
    throw InvalidArgumentError(fmt::format(
        "sharded(): \"{}\" is {}, expected rows: an array of numbers whose first size may change, "
        "a "
        "sequence of structs that is stored as columns, or a struct of such; for an array of fixed "
        "size, give its place by a Shard; for a value of each rank, see per_rank()",
        name(), found));
}

Tracker Tracker::beneath(std::string_view name) const {
  Tracker part(graph_, visitor_, full_name(name), depth_ + 1);
  part.is_fixed_ = is_fixed_;
  part.members_ = members_;
  part.has_rows_ = has_rows_;
  return part;
}

Tracker Tracker::at_fixed() const {
  Tracker here = *this;
  here.is_fixed_ = true;
  return here;
}

void Tracker::add_array(std::string_view name, BorrowedArray array) {
  if (name.empty()) return add_own_array(std::move(array));
  beneath(name).add_own_array(std::move(array));
}

void Tracker::add_object(std::string_view name, std::shared_ptr<Saveable> object) {
  if (name.empty()) return add_own_object(std::move(object));
  beneath(name).add_own_object(std::move(object));
}

void Tracker::add_provider(Provider provider) {
  provide([provider = std::move(provider)](Tracker& here) {
    const StoredParts stored = here.stored();
    if (stored.empty() || !provider.make) return provider.list(here);
    if (here.is_plan()) {
      if (provider.check) provider.check(stored);
      return here.visitor_->all_stored(here.prefix_, here.is_fixed_);
    }
    provider.make(stored);
    here.visitor_->begin_provider();
    provider.list(here);
    here.visitor_->end_provider();
  });
}

void Tracker::add_provider(PartsProvider provider) {
  provide([provider = std::move(provider)](Tracker& here) {
    if (!here.is_restoring()) return provider.list(here);
    const StoredParts stored = here.stored();
    if (here.is_plan())
      return here.visitor_->planned(here.prefix_, provider.plan(stored), here.is_fixed_);
    const StoredParts read = here.visitor_->read().beneath(here.prefix_);
    if (provider.make && !read.empty()) provider.make(stored, read);
    provider.list(here);
  });
}

void Tracker::add_own_array(BorrowedArray array) {
  if (members_ != nullptr) return members_->other(prefix_);
  if (has_rows_ && !array.resize) {
    const ArrayView view = array.view();
    check_needs_no_rows(fmt::format("{} {}", view.dtype, view.shape));
  }
  if (is_fixed_ || shard_ != nullptr) array.resize = {};  // Its place determines a shard's size.
  if (visitor_ != nullptr) return visitor_->array(prefix_, std::move(array), is_fixed_);
  const auto view = array.view;
  add_as(prefix_, [&] {
    const Variable variable = graph_->borrow(prefix_, std::move(array));
    if (shard_ != nullptr) shard_variable(*graph_, variable, *shard_);
  });
  if (view().shape.rank() == 0)
    internal::InitialValues::of(*graph_).add(prefix_, [view] { return copy_of(view()); });
}

void Tracker::add_own_object(std::shared_ptr<Saveable> object, std::function<Tensor()> initial) {
  if (members_ != nullptr) return members_->other(prefix_);
  if (shard_ != nullptr)
    throw InvalidArgumentError(
        fmt::format("sharded(): \"{}\" is not an array whose elements follow each other in the "
                    "memory of the processor",
                    prefix_));
  if (has_rows_ && !is_list(*object)) check_needs_no_rows("another value");
  if (is_fixed_) object = std::make_shared<internal::FixedState>(std::move(object));
  if (visitor_ != nullptr) return visitor_->object(prefix_, std::move(object), is_fixed_);
  add_as(prefix_, [&] { graph_->saveable(prefix_, std::move(object)); });
  if (initial) internal::InitialValues::of(*graph_).add(prefix_, std::move(initial));
}

void Tracker::add_own_setting(std::shared_ptr<Saveable> object) {
  add_own_object(object, [object] { return object->save().at(""); });
}

void Tracker::provide(std::function<void(Tracker& here)> visit) {
  if (members_ != nullptr) return members_->other(prefix_);
  check_needs_no_rows("a value whose structure may change");
  if (visitor_ != nullptr) return visit(*this);
  const auto visit_here = [visit = std::move(visit), is_fixed = is_fixed_](Tracker& here) {
    here.is_fixed_ = is_fixed;
    visit(here);
  };
  auto state = std::make_shared<internal::ProvidedState>(*graph_, prefix_, visit_here);
  Tracker whole = *this;
  whole.is_fixed_ = false;  // Its parts are.
  whole.add_own_object(state);
  if (state->epochs())
    internal::record_tracked_epochs(*graph_, [state] { return state->epochs(); });
}

void Tracker::mark(std::string_view name) const {
  beneath(name).add_own_object(internal::make_saveable(
      [] {
        return TensorMap{{"", Tensor::scalar(true)}};
      },
      [](const TensorMap&) {}));
}

void Tracker::add_versioned(uint32_t present,
                            std::function<void(Tracker& here, uint32_t version)> list) {
  provide([present, list = std::move(list)](Tracker& here) {
    uint32_t version = present;
    const std::vector<std::string> names = here.stored().beneath(internal::kVersionName).names();
    if (!names.empty()) {
      const auto stored = internal::unsigned_number(names.front());
      if (!stored || *stored > present)
        throw InvalidArgumentError(fmt::format(
            "\"{}\" was written by version {} of its class, which is later than the program's, {}",
            here.name(), names.front(), present));
      version = static_cast<uint32_t>(*stored);
    }
    here.beneath(internal::kVersionName).mark(std::to_string(version));
    list(here, version);
  });
}

void Tracker::record_epochs(const EpochOrder& epochs) const {
  if (members_ != nullptr) return;
  if (visitor_ != nullptr) return visitor_->epochs(epochs);
  internal::record_tracked_epochs(*graph_, [&epochs] { return epochs.progress(); });
}

std::string Tracker::name() const {
  return visitor_ != nullptr ? visitor_->full_name(prefix_) : prefix_;
}

bool Tracker::is_restoring() const {
  return visitor_ != nullptr && visitor_->purpose() != internal::PartVisitor::Purpose::kSave;
}

bool Tracker::may_resize(size_t num_elements) const {
  return has_rows_ || (num_elements == 0 && (is_direct() || is_restoring()));
}

StoredParts Tracker::stored() const { return visitor_->stored().beneath(prefix_); }

StoredParts Tracker::layout() const { return visitor_->layout().beneath(prefix_); }

bool Tracker::is_plan() const {
  return visitor_->purpose() == internal::PartVisitor::Purpose::kPlan;
}

void Tracker::keep(std::shared_ptr<const void> object) const { visitor_->keep(std::move(object)); }

void Tracker::record_entries(const EntryChanges& changes) const {
  visitor_->record_entries(prefix_, changes);
}

}  // namespace crochet::inline v0
