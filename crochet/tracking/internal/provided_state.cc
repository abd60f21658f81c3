// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tracking/internal/provided_state.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/dynamic_type.h"
#include "crochet/copies/internal/checked_copies.h"
#include "crochet/engines/local/internal/graph_state.h"
#include "crochet/session/internal/nested_names.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/tracking/epochs.h"
#include "crochet/tracking/tracker.h"

namespace crochet::inline v0::internal {

namespace {

class ListingVisitor : public PartVisitor {
 public:
  explicit ListingVisitor(const std::string& value) : value_(value) {}

  std::string full_name(const std::string& name) const override {
    return internal::full_name(value_, name);
  }
  void all_stored(const std::string&, bool) override {}
  void keep(std::shared_ptr<const void> object) override { kept_.push_back(std::move(object)); }

 protected:
  void add_name(const std::string& name) {
    if (!names_.insert(name).second)
      throw AlreadyExistsError(fmt::format("two parts have the name \"{}\"", full_name(name)));
  }

 private:
  const std::string& value_;
  std::set<std::string, std::less<>> names_;
  std::vector<std::shared_ptr<const void>> kept_;
};

class SavingVisitor final : public ListingVisitor {
 public:
  struct Array {
    std::string name;
    BorrowedArray array;
    ArrayView view;
  };

  using ListingVisitor::ListingVisitor;

  Purpose purpose() const override { return Purpose::kSave; }
  const StoredParts& stored() const override { return none_; }
  void array(const std::string& name, BorrowedArray array, bool) override {
    add_name(name);
    ArrayView view = array.view();
    arrays_.push_back({name, std::move(array), std::move(view)});
  }
  void object(const std::string& name, std::shared_ptr<Saveable> object, bool) override {
    add_name(name);
    objects_.emplace_back(name, std::move(object));
  }

  void columns(const std::string& name, Columns columns, bool) override {
    for (const Column& column : columns.members.columns)
      add_name(internal::full_name(name, column.full_name()));
    columns_.emplace_back(name, std::move(columns));
  }

  const std::vector<Array>& arrays() const { return arrays_; }
  const std::vector<std::pair<std::string, Columns>>& all_columns() const { return columns_; }
  std::vector<HoldableState*> generators() const {
    std::vector<HoldableState*> generators;
    for (const auto& [name, object] : objects_)
      if (auto* const state = dynamic_as<HoldableState>(object.get());
          state != nullptr && state->has_generators())
        generators.push_back(state);
    return generators;
  }
  // With copies that are still being made only if they may be.
  CapturedState object_states(bool in_background) const {
    CapturedState states;
    for (const auto& [name, object] : objects_) {
      CapturedState own =
          in_background ? object->capture() : CapturedState{.tensors = object->save()};
      for (auto& [key, value] : own.tensors)
        states.tensors.emplace(internal::full_name(name, key), std::move(value));
      std::ranges::move(own.copies, std::back_inserter(states.copies));
    }
    return states;
  }

 private:
  const StoredParts none_;
  std::vector<Array> arrays_;
  std::vector<std::pair<std::string, Columns>> columns_;
  std::vector<std::pair<std::string, std::shared_ptr<Saveable>>> objects_;
};

class EpochsVisitor final : public ListingVisitor {
 public:
  using ListingVisitor::ListingVisitor;

  Purpose purpose() const override { return Purpose::kSave; }
  const StoredParts& stored() const override { return none_; }
  void array(const std::string&, BorrowedArray, bool) override {}
  void object(const std::string&, std::shared_ptr<Saveable>, bool) override {}
  void columns(const std::string&, Columns, bool) override {}
  void epochs(const EpochOrder& epochs) override {
    if (!progress_) progress_ = epochs.progress();
  }

  std::optional<double> progress() const { return progress_; }

 private:
  const StoredParts none_;
  std::optional<double> progress_;
};

class PlanningVisitor final : public ListingVisitor {
 public:
  PlanningVisitor(const std::string& value, const StoredParts& stored, const StoredParts& layout)
      : ListingVisitor(value), stored_(stored), layout_(layout) {}

  Purpose purpose() const override { return Purpose::kPlan; }
  const StoredParts& stored() const override { return stored_; }
  const StoredParts& layout() const override { return layout_; }
  void array(const std::string& name, BorrowedArray array, bool is_fixed) override {
    add_name(name);
    const ArrayView view = array.view();
    parts_.push_back({.key = name,
                      .dtype = view.dtype,
                      .shape = possible_shape(array, view),
                      .present_shape = view.shape,
                      .is_key = num_keys_ > 0,
                      .wholes = wholes(),
                      .is_structure_fixed = is_fixed});
  }
  void object(const std::string& name, std::shared_ptr<Saveable>, bool is_fixed) override {
    add_name(name);
    parts_.push_back({.key = name,
                      .is_object = true,
                      .is_key = num_keys_ > 0,
                      .wholes = wholes(),
                      .is_structure_fixed = is_fixed});
  }
  void columns(const std::string& name, Columns columns, bool is_fixed) override {
    begin_whole(name, WholeValue::Kind::kColumns);
    const int64_t rows =
        columns.has_any_size ? Shape::kUnknownDimension : static_cast<int64_t>(columns.num_rows);
    const auto present_rows = static_cast<int64_t>(columns.present_rows);
    for (const Column& column : columns.members.columns) {
      parts_.push_back({.key = internal::full_name(name, column.full_name()),
                        .dtype = column.dtype,
                        .shape = column.shape_of_rows(rows),
                        .present_shape = column.shape_of_rows(present_rows),
                        .is_column = true,
                        .is_key = num_keys_ > 0,
                        .wholes = wholes(),
                        .is_structure_fixed = is_fixed});
      add_name(parts_.back().key);
    }
    for (const std::string& other : columns.members.others)
      add_other_member(internal::full_name(name, other), is_fixed);
    end_whole();
  }

  void all_stored(const std::string& name, bool is_fixed) override {
    for (const auto& [key, part] : stored_.beneath(name).all()) {
      const std::string full = internal::full_name(name, key);
      add_name(full);
      parts_.push_back({.key = full,
                        .dtype = part.dtype,
                        .shape = part.shape,
                        .present_shape = part.shape,
                        .wholes = wholes(),
                        .is_structure_fixed = is_fixed});
    }
  }

  void planned(const std::string& name, std::vector<StatePart> parts, bool is_fixed) override {
    for (StatePart& part : parts) {
      part.key = internal::full_name(name, part.key);
      part.wholes = wholes();
      part.is_structure_fixed = is_fixed;
      part.planned_by = name;
      add_name(part.key);
      parts_.push_back(std::move(part));
    }
  }

  void begin_keys() override { ++num_keys_; }
  void end_keys() override { --num_keys_; }
  void begin_whole(const std::string& name, WholeValue::Kind kind) override {
    wholes_.push_back({name, kind});
  }
  void end_whole() override { wholes_.pop_back(); }

  std::vector<StatePart> take_parts() { return std::move(parts_); }

 private:
  // A member that the checkpoint lacks, as it is not a column; or it was one, of another type.
  void add_other_member(const std::string& name, bool is_fixed) {
    // One that stays in the program has no type.
    if (const StoredParts::Part* const found = stored_.find(name);
        found != nullptr && found->dtype != DType::kInvalid)
      throw InvalidArgumentError(fmt::format(
          "\"{}\": found one {} {} of all elements, expected a value for each element: its type in "
          "this program has no fixed size",
          full_name(name), found->dtype, found->shape));
    add_name(name);
    parts_.push_back({.key = name,
                      .is_object = true,
                      .is_key = num_keys_ > 0,
                      .wholes = wholes(),
                      .is_structure_fixed = is_fixed});
  }

  // Within a keyed container the names of others depend on its keys.
  std::vector<WholeValue> wholes() const {
    const auto keyed = std::ranges::find(wholes_, WholeValue::Kind::kKeyed, &WholeValue::kind);
    return {wholes_.begin(), keyed == wholes_.end() ? keyed : std::next(keyed)};
  }

  const StoredParts& stored_;
  const StoredParts& layout_;
  std::vector<StatePart> parts_;
  std::vector<WholeValue> wholes_;  // That have begun, the outermost first.
  int num_keys_ = 0;
};

class RestoringVisitor final : public ListingVisitor {
 public:
  // `num_unread` counts the parts that have not got their values.
  RestoringVisitor(const std::string& value, const StoredParts& stored, PartValues& values,
                   std::atomic<size_t>& num_unread)
      : ListingVisitor(value), stored_(stored), values_(values), num_unread_(num_unread) {}

  Purpose purpose() const override { return Purpose::kRestore; }
  const StoredParts& stored() const override { return stored_; }
  const StoredParts& read() const override { return values_.parts(); }
  void begin_provider() override { ++num_providers_; }
  void end_provider() override { --num_providers_; }
  void begin_keys() override { ++num_keys_; }
  void end_keys() override { --num_keys_; }
  void record_entries(const std::string& name, const EntryChanges& changes) override {
    values_.record_entries(name, changes);
  }

  void array(const std::string& name, BorrowedArray array, bool) override {
    add_name(name);
    const StoredParts::Part* const found = values_.parts().find(name);
    if (found == nullptr) return check_may_lack(name);
    ++num_restored_;
    const StoredParts::Part part = *found;
    const std::string full = full_name(name);
    const ArrayView before = array.view();
    check_fits(full, part, before.dtype, possible_shape(array, before));
    if (array.resize) array.resize(part.shape);
    read_part(name, [full, part, array = std::move(array)](PartValue& value) {
      const ArrayView view = array.view();
      check_fits(full, part, view.dtype, view.shape);
      fill_array(view, [&](std::span<std::byte> elements) { value.read_into(elements); });
    });
  }

  void columns(const std::string& name, Columns columns, bool) override {
    const auto shared = std::make_shared<const Columns>(std::move(columns));
    for (size_t i = 0; i < shared->members.columns.size(); ++i) {
      const Column& column = shared->members.columns[i];
      const std::string part_name = internal::full_name(name, column.full_name());
      add_name(part_name);
      const StoredParts::Part* const found = values_.parts().find(part_name);
      if (found == nullptr) {
        check_may_lack(part_name);
        continue;
      }
      ++num_restored_;
      check_fits(full_name(part_name), *found, column.dtype,
                 column.shape_of_rows(static_cast<int64_t>(shared->num_rows)));
      read_part(part_name, [shared, i](PartValue& value) { shared->assign(i, value.read()); });
    }
  }

  void object(const std::string& name, std::shared_ptr<Saveable> object, bool) override {
    add_name(name);
    const StoredParts::Map parts = values_.parts().beneath(name).all();
    if (parts.empty()) return check_may_lack(name);
    num_restored_ += parts.size();
    // Restored when its last entry is read.
    const auto state = std::make_shared<TensorMap>(kept_entries(name, *object, parts));
    const size_t num_entries = state->size() + parts.size();
    const bool is_key = num_keys_ > 0;  // Made for this: it has nothing of the program's.
    for (const auto& [key, part] : parts)
      read_part(internal::full_name(name, key), [state, object, key = key, full = full_name(name),
                                                 num_entries, is_key](PartValue& value) {
        state->emplace(key, value.read());
        if (state->size() < num_entries) return;
        restore_object(full, *object,
                       is_key ? std::move(*state) : value.fitted(full, *object, std::move(*state)));
      });
  }

  // Throws: InvalidArgumentError if the value lacks a part that is stored.
  void check_all_restored() const {
    const size_t num_stored = values_.parts().all().size();
    if (num_restored_ < num_stored)
      throw InvalidArgumentError(
          fmt::format("{} of its {} stored parts were restored: the others were not made",
                      num_restored_, num_stored));
  }

 private:
  // The object's own values of entries that are stored, and not restored.
  TensorMap kept_entries(const std::string& name, const Saveable& object,
                         const StoredParts::Map& restored) const {
    TensorMap kept;
    StoredParts::Map stored = stored_.beneath(name).all();
    if (stored.size() == restored.size()) return kept;
    for (auto& [key, value] : object.save())
      if (stored.contains(key) && !restored.contains(key)) kept.emplace(key, std::move(value));
    return kept;
  }

  static void restore_object(const std::string& name, Saveable& object, const TensorMap& state) {
    try {
      object.restore(state);
    } catch (const InvalidArgumentError& error) {
      throw InvalidArgumentError(fmt::format("\"{}\": {}", name, error.what()));
    }
  }

  static void check_fits(const std::string& name, const StoredParts::Part& part, DType dtype,
                         const Shape& shape) {
    if (part.dtype != dtype || !part.shape.is_compatible_with(shape))
      throw InvalidArgumentError(fmt::format("\"{}\": found {} {}, expected {} {}", name,
                                             part.dtype, part.shape, dtype, shape));
  }

  // Keys are read at once.
  void read_part(const std::string& name, PartValues::Take take) {
    if (num_keys_ > 0) return values_.read_now(name, take);
    ++num_unread_;
    values_.read_later(name, [&unread = num_unread_, take = std::move(take)](PartValue& value) {
      take(value);
      --unread;
    });
  }

  // A part may be missing only if the restore was planned without it.
  void check_may_lack(const std::string& name) const {
    if (num_providers_ > 0 && !stored_.is_partial() && stored_.beneath(name).empty())
      throw InvalidArgumentError(fmt::format(
          "\"{}\" is not stored: make() has to leave what the checkpoint lacks", full_name(name)));
  }

  const StoredParts& stored_;
  PartValues& values_;
  std::atomic<size_t>& num_unread_;
  size_t num_restored_ = 0;
  int num_providers_ = 0;
  int num_keys_ = 0;
};

// The memory of copies, by name. That of names which are not used again is freed.
class KeptMemory {
 public:
  using Memory = std::map<std::string, CopyMemory, std::less<>>;
  explicit KeptMemory(Memory former) : former_(std::move(former)) {}

  CopyMemory& of(const std::string& name) {
    auto kept = former_.extract(name);
    return kept.empty() ? used_[name] : used_.insert(std::move(kept)).position->second;
  }
  Memory take() { return std::move(used_); }

 private:
  Memory former_;
  Memory used_;
};

template <typename Add>
void add_copies(const std::string& name, const Columns& columns, KeptMemory& memory,
                const Add& add) {
  const auto name_of = [&](size_t i) {
    return internal::full_name(name, columns.members.columns[i].full_name());
  };
  std::vector<Tensor> values = columns.copies([&](size_t i, const Shape& shape) {
    auto lent = memory.of(name_of(i)).lend(columns.members.columns[i].dtype, shape);
    return Columns::Lent{std::move(lent.tensor), lent.data};
  });
  for (size_t i = 0; i < values.size(); ++i) add(name_of(i), std::move(values[i]));
}

}  // namespace

ProvidedState::ProvidedState(local::Graph& graph, std::string name, Visit visit)
    : graph_(graph), name_(std::move(name)), visit_(std::move(visit)) {
  SavingVisitor visitor(name_);
  Tracker here(&graph_, &visitor, "", 0);
  visit_(here);
}

ProvidedState::~ProvidedState() = default;

TensorMap ProvidedState::save() const { return copy(CopyTime::kNow).tensors; }

CapturedState ProvidedState::capture() const { return copy(CopyTime::kInBackground); }

std::shared_ptr<void> ProvidedState::hold() {
  SavingVisitor visitor(name_);
  Tracker here(&graph_, &visitor, "", 0);
  visit_(here);
  auto held = std::make_shared<std::vector<std::shared_ptr<void>>>();
  for (HoldableState* const generator : visitor.generators()) held->push_back(generator->hold());
  return held;
}

bool ProvidedState::has_generators() const {
  SavingVisitor visitor(name_);
  Tracker here(&graph_, &visitor, "", 0);
  visit_(here);
  return !visitor.generators().empty();
}

CapturedState ProvidedState::copy(CopyTime when) const {
  if (num_unread_ > 0)
    throw FailedPreconditionError(fmt::format(
        "no snapshot: a restore of \"{}\" failed in the middle: it may hold half of it", name_));
  SavingVisitor visitor(name_);
  Tracker here(&graph_, &visitor, "", 0);
  visit_(here);
  CapturedState state = visitor.object_states(when == CopyTime::kInBackground);
  const auto add = [&](const std::string& name, Tensor value) {
    if (!state.tensors.emplace(name, std::move(value)).second)
      throw AlreadyExistsError(
          fmt::format("an array and a value of an object have the name \"{}/{}\"", name_, name));
  };
  const auto checks = graph_.checks_snapshots() ? std::make_shared<CheckedCopies>() : nullptr;
  std::vector<ParallelCopier::Copy> copies;
  GuardedArrays guarded;
  KeptMemory memory(exchange_memory({}));
  for (const auto& [name, array, view] : visitor.arrays()) {
    // Inline elements are in the object, so they are copied before it moves.
    if (view.num_bytes() <= Tensor::kInlineBytes) {
      Tensor copy(view.dtype, view.shape);
      copy_out(view, copy.writable_bytes());
      add(name, std::move(copy));
      continue;
    }
    CopyMemory::Lent lent = memory.of(name).lend(view.dtype, view.shape);
    if (when == CopyTime::kInBackground && is_guarded(array, view)) {
      guarded[array.barrier].push_back(guarded_array(array, view, lent.data, lent.tensor));
      if (checks)
        checks->expect(internal::full_name(name_, name), view, lent.tensor,
                       CheckedCopies::Rule::kAnnounced);
    } else {
      copies.push_back({view, lent.data});
    }
    add(name, std::move(lent.tensor));
  }
  for (const auto& [name, columns] : visitor.all_columns()) add_copies(name, columns, memory, add);
  exchange_memory(memory.take());
  auto& graph = local::internal::GraphState::of(graph_);
  (*graph.copier)->copy(copies);
  const bool is_checked = checks && !guarded.empty();
  for (auto& pending : graph.barriers.guard(std::move(guarded), graph.copier)) {
    if (checks) checks->wait_for(pending);
    state.copies.push_back(std::move(pending));
  }
  if (is_checked) state.copies.push_back(checks);
  return state;
}

ProvidedState::Memory ProvidedState::exchange_memory(Memory memory) const {
  const std::lock_guard lock(memory_mutex_);
  return std::exchange(memory_, std::move(memory));
}

std::vector<StatePart> ProvidedState::parts_for(const StoredParts& stored) const {
  return parts_for(stored, stored);
}

std::vector<StatePart> ProvidedState::present_parts(const StoredParts& stored) const {
  return parts_for(StoredParts(), stored);
}

std::vector<StatePart> ProvidedState::parts_for(const StoredParts& stored,
                                                const StoredParts& layout) const {
  PlanningVisitor visitor(name_, stored, layout);
  Tracker here(&graph_, &visitor, "", 0);
  visit_(here);
  return visitor.take_parts();
}

void ProvidedState::restore_parts(const StoredParts& stored, PartValues& values) {
  local::internal::GraphState::of(graph_).barriers.drain();
  num_unread_ = 1;  // Until the structure is complete.
  RestoringVisitor visitor(name_, stored, values, num_unread_);
  Tracker here(&graph_, &visitor, "", 0);
  visit_(here);
  visitor.check_all_restored();
  --num_unread_;
}

std::optional<double> ProvidedState::epochs() const {
  EpochsVisitor visitor(name_);
  Tracker here(&graph_, &visitor, "", 0);
  visit_(here);
  return visitor.progress();
}

}  // namespace crochet::inline v0::internal
