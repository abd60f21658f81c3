// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/engines/local/graph.h"
#include "crochet/session/graph.h"
#include "crochet/session/parted_saveable.h"
#include "crochet/session/saveable.h"
#include "crochet/tracking/classes.h"
#include "crochet/tracking/internal/part_visitor.h"
#include "crochet/tracking/internal/part_walks.h"
#include "crochet/tracking/internal/saveable_adapters.h"
#include "crochet/tracking/internal/struct_members.h"
#include "crochet/tracking/internal/type_shapes.h"

namespace crochet::inline v0 {

class EpochOrder;
namespace internal {
class ProvidedState;
}  // namespace internal

// Records which values must survive a restart, and their names. The parts of a struct are its
// members, under their names, if all are public, at most 64, and can be initialised by {}, and if
// it has no base class:
//
//   struct Perceptron {
//     Eigen::MatrixXf w1, w2;
//   };
//
// Any other type lists its parts in one of two ways, in a member function or in a free function in
// its namespace, and so does a struct that is to have other parts or names:
//
//   void track(Tracker& tracker) { tracker("w1", w1_)("w2", w2_); }
//   void track(Tracker& tracker, Perceptron& model) { tracker("w1", model.w1)("w2", model.w2); }
//
// Parts may be, nested to any depth (docs/tracking.md has a table):
//
// - numbers, enumerations, durations and times, strings, std::atomic and std::bitset; arrays and
//   C arrays of any rank; std::vector, std::span and other standard containers; std::map and
//   std::unordered_map, which are saved in the order of their keys;
// - std::pair, std::tuple, std::optional, std::variant, std::unique_ptr and std::shared_ptr, whose
//   values are made at a restore, by their default constructors, if they are absent;
// - Tensor; Eigen matrices (with <crochet/eigen.h>); standard random generators and distributions;
// - such structs and classes, and anything with `TensorMap save() const` and
//   `void restore(const TensorMap&)`.
//
// Anything else does not compile, nor does a temporary other than a span: it would be destroyed,
// with all it owns, before the first save.
//
// What is in a container, an optional, a variant or a pointer is listed again at each save, by the
// same functions, so its names and sizes may change between saves. A type that lists what it only
// gets in the course of a run, such as an optimizer, is a provider: it has a second function, by
// which a restore has it make what the checkpoint has, so that track() then lists just that:
//
//   void make(const StoredParts& stored) {
//     for (const std::string& name : stored.names()) moments.try_emplace(name);
//   }
//   void track(Tracker& tracker) { for (auto& [name, m] : moments) tracker(name, m); }
//
// (or `void make(const StoredParts&, Optimizer&)` in its namespace).
//
// The caller keeps ownership of tracked values, which must not move until the loop has run;
// the memory that a container owns may move.
class CROCHET_EXPORT Tracker {
 public:
  // Names begin with "<prefix>/", unless the prefix is empty.
  Tracker(local::Graph& graph, std::string prefix) : graph_(&graph), prefix_(std::move(prefix)) {}

  // Throws: AlreadyExistsError for a name that was used before; InvalidArgumentError for an empty
  // one; FailedPreconditionError for parts that are nested more than 200 deep, as by a cycle of
  // pointers.
  template <typename T>
  Tracker& operator()(std::string_view name, T&& value);

  // For sharded(): tracks the value at which this tracker is as rows of arrays that all ranks have
  // together. Throws: as track_part(); InvalidArgumentError for what has no rows.
  template <typename T>
  void track_rows(T& value) {
    add_rows([&value](Tracker& here) { here.track_value(value); });
  }
  // For sharded() and per_rank(): tracks the value at which this tracker is, as a part of an array
  // that all ranks have together, or as this rank's own.
  // Throws: FailedPreconditionError in a container or another value whose structure may change.
  template <typename T>
  void track_part(T& value, const Shard& shard) {
    at_part(shard).track_value(value);
  }
  template <typename T>
  void track_per_rank(T& value, Regroup regroup) {
    at_rank(regroup).track_value(value);
  }

  // For fixed(): tracks the value at which this tracker is, as one whose structure and sizes a
  // restore must not change.
  template <typename T>
  void track_fixed(T& value);

  // For code that adds support for other types. An empty name is that of the value itself.
  void add_array(std::string_view name, BorrowedArray array);
  void add_object(std::string_view name, std::shared_ptr<Saveable> object);
  // Parts that are listed again at each save and restore.
  struct Provider {
    std::function<void(Tracker& here)> list;
    // Has the value make what the checkpoint has, before list() is called; not called if it has
    // nothing here. Empty if the value always has the parts that it lists.
    std::function<void(const StoredParts& stored)> make = {};
    // Throws InvalidArgumentError if make() could not. Called before anything is changed.
    std::function<void(const StoredParts& stored)> check = {};
  };
  void add_provider(Provider provider);
  // The same for a value that knows its parts before a restore: each part is compared with the
  // checkpoint, and chosen, renamed and left out, like a value of its own.
  struct PartsProvider {
    std::function<void(Tracker& here)> list;
    // The parts that the value has after a restore from a checkpoint that has `stored` here, by
    // their names relative to the value. Changes nothing. Throws: InvalidArgumentError if it cannot
    // be restored from it.
    std::function<std::vector<StatePart>(const StoredParts& stored)> plan;
    // Makes the parts of `read`, whose values follow when they are listed. Parts that are stored
    // but not read keep their values; those that are not stored are gone. Not called if none is
    // read: then the value stays as it is. May be empty.
    std::function<void(const StoredParts& stored, const StoredParts& read)> make = {};
  };
  void add_provider(PartsProvider provider);
  // Parts that depend on the version of the class that lists them, which is stored with them:
  // `list` is given that of the checkpoint in a restore, and `present` in a save. A restore of a
  // later version than `present` throws InvalidArgumentError.
  void add_versioned(uint32_t present, std::function<void(Tracker& here, uint32_t version)> list);
  // True where sharded() tracks a value: expected is one array, by add_array("", ...).
  bool is_sharded() const { return shard_ != nullptr; }
  // True where sharded() tracks rows: expected are arrays whose first size may change.
  bool has_rows() const { return has_rows_; }
  // True while a value is given what a checkpoint has, which may have another size. The elements
  // follow when all parts are listed.
  bool is_restoring() const;
  // True if a restore may change the size of an array that has `num_elements` now: one without any
  // takes the size of the checkpoint, and one of rows that of this rank's.
  bool may_resize(size_t num_elements) const;
  // The name of the value, with those of what it is a part of.
  std::string name() const;
  // True where values become variables and objects of the graph. False in what may come and go, as
  // an element of a container does.
  bool is_direct() const { return visitor_ == nullptr && members_ == nullptr; }
  // Of the loop.
  local::Graph& graph() const { return *graph_; }

 private:
  friend struct internal::PartWalks;
  friend struct internal::ColumnWalk;
  friend class internal::ProvidedState;

  Tracker(local::Graph* graph, internal::PartVisitor* visitor, std::string prefix, int depth);
  // At an element of a sequence, whose members are visited.
  Tracker(local::Graph* graph, internal::MemberVisitor* members)
      : graph_(graph), members_(members) {}

  // A tracker at a part, or at an element, whose name may be any text but "".
  Tracker beneath(std::string_view name) const;
  std::string full_name(std::string_view name) const;
  // Throws: InvalidArgumentError for an empty name.
  std::string_view checked(std::string_view name) const;

  Tracker at_part(const Shard& shard) const;
  Tracker at_rank(Regroup regroup) const;
  void add_rows(std::function<void(Tracker& here)> visit);
  // Throws: InvalidArgumentError if this is a place for rows.
  void check_needs_no_rows(std::string_view found) const;

  Tracker at_fixed() const;

  // Of the value at which this tracker is.
  void add_own_array(BorrowedArray array);
  // `initial` reads the value with which the program begins. It is called later, and not kept for a
  // part of a value whose structure may change, or of an element of a sequence: these may be gone
  // by then.
  void add_own_object(std::shared_ptr<Saveable> object, std::function<Tensor()> initial = {});
  // An object of one small value, which a program may set differently when it is started again.
  void add_own_setting(std::shared_ptr<Saveable> object);
  // Lists parts by `visit`: now, or again at each save and restore.
  void provide(std::function<void(Tracker& here)> visit);
  // Records that something exists that has no parts.
  void mark(std::string_view name) const;
  // Records epochs, whose progress is a curve of a loop.
  void record_epochs(const EpochOrder& epochs) const;

  // What the checkpoint has here; empty in a save.
  StoredParts stored() const;
  // The same, or of parts as they are now, what the checkpoint has that they are compared with.
  StoredParts layout() const;
  bool is_plan() const;
  void keep(std::shared_ptr<const void> object) const;
  void record_entries(const EntryChanges& changes) const;
  // Lists the parts of the value here by `walk`, as those of one that options keep as a whole.
  template <typename Walk>
  void track_whole(WholeValue::Kind kind, const Walk& walk) const;

  template <typename T>
  static constexpr bool lists_parts();
  template <typename T>
  static constexpr bool can_be_member();
  template <typename T>
  void track_at(std::string_view name, T& value) const;
  // The element at which this tracker is.
  template <typename T>
  void track_element(T& value);
  template <typename T>
  void add_member(std::string_view name, T& value) const;
  template <typename T>
  void track_value(T& value);
  // The same for keys: a restore gives them their values at once.
  template <typename T>
  void track_keys(T& keys) const;
  template <typename T>
  void track_provider(T& value);
  template <typename T>
  void list_parts(T& value);

  local::Graph* graph_;                         // Not owned.
  internal::PartVisitor* visitor_ = nullptr;    // Null outside of one. Not owned.
  internal::MemberVisitor* members_ = nullptr;  // The same.
  std::string prefix_;
  int depth_ = 0;
  const Shard* shard_ = nullptr;  // Of the array that is tracked here. Not owned.
  bool has_rows_ = false;         // As has_rows().
  bool is_fixed_ = false;         // A restore must not change structure and sizes here.
};

namespace internal {

template <typename T>
concept TracksItself = requires(T& value, Tracker& tracker) {
  value.track(tracker);
};

template <typename T>
concept TrackedByFunction = requires(T& value, Tracker& tracker) {
  track(tracker, value);
};

template <typename T>
concept MakesItself = requires(T& value, const StoredParts& stored) {
  value.make(stored);
};

template <typename T>
concept MadeByFunction = requires(T& value, const StoredParts& stored) {
  make(stored, value);
};

// Support for array libraries adds a function of this name to crochet: see <crochet/eigen.h>.
template <typename T>
concept BorrowableArray = requires(T& value, Tracker& tracker) {
  { borrow_array(tracker, value) } -> std::same_as<BorrowedArray>;
};

// Support for a serialisation library adds a function of this name: see <crochet/cereal.h>.
template <typename T>
concept Serialized = requires(T& value, Tracker& tracker) {
  track_serialized(tracker, value);
};

// True for arrays of such a library whose types fix their shapes.
template <typename T>
inline constexpr bool kHasFixedShape = false;

// A member of an element that can be in a column.
template <typename T>
concept ColumnMember =
    !std::is_const_v<T> && !TracksItself<T> && !TrackedByFunction<T> && !SavesItself<T> &&
    (BorrowableArray<T> ? kHasFixedShape<T> : std::same_as<T, std::string> || DenseElement<T>);

// The numbers of `count` elements that follow each other in memory.
template <DenseElement E>
ArrayView view_of(E* elements, size_t count) {
  std::vector<int64_t> sizes = {static_cast<int64_t>(count)};
  DenseOf<E>::add_sizes(sizes);
  return {.dtype = kDenseDtype<E>,
          .shape = Shape(sizes),
          .data = reinterpret_cast<std::byte*>(elements)};
}

template <Dense T>
ArrayView view_of(T& value) {
  std::vector<int64_t> sizes;
  DenseOf<T>::add_sizes(sizes);
  return {
      .dtype = kDenseDtype<T>, .shape = Shape(sizes), .data = reinterpret_cast<std::byte*>(&value)};
}

template <typename T>
ArrayView view_of_elements(T& value) {
  if constexpr (ValArray<T>) {
    return view_of(value.size() == 0 ? nullptr : &value[0], value.size());
  } else {
    return view_of(std::data(value), std::size(value));
  }
}

template <typename T>
BorrowedArray borrow_elements(T& value) {
  BorrowedArray array{.view = [&value] { return view_of_elements(value); }};
  if constexpr (requires { value.resize(size_t{}); }) {
    array.resize = [&value](const Shape& shape) { value.resize(static_cast<size_t>(shape[0])); };
    std::vector<int64_t> sizes = {Shape::kUnknownDimension};
    DenseOf<std::remove_cvref_t<decltype(value[0])>>::add_sizes(sizes);
    array.sizes = Shape(sizes);
  }
  return array;
}

// A value that refers to what is tracked, and may be a temporary itself.
template <typename T>
concept TrackedReference = requires {
  typename T::ReferenceToTracked;
};

// True for classes whose const objects can be tracked, as the state that a restore changes is
// elsewhere.
template <typename T>
inline constexpr bool kIsHandle = false;

// True for views of elements that a program owns: each is kept as a copy, and may be const or a
// temporary.
template <typename T>
inline constexpr bool kIsView = kIsSpan<T>;

template <typename T>
inline constexpr bool kCanBeTracked = false;

// A compiler names the type T where it reports these.
template <typename T>
struct TypeThatCannotBeTracked {
  static_assert(
      kCanBeTracked<T>,
      "crochet cannot track this type: give it `void track(crochet::Tracker&)`, or "
      "`TensorMap save() const` and `void restore(const TensorMap&)`; a struct needs neither "
      "if all its members are public, at most 64, and can be initialised by {}, and it has "
      "no base class; for Eigen's matrices include <crochet/eigen.h>; or leave it out if "
      "the program can make it again");
};
template <typename T>
struct TypeThatCannotBeTracked<const T> {
  static_assert(kCanBeTracked<const T>,
                "crochet cannot track what is const, as a restore changes it: write "
                "`void track(crochet::Tracker&)` without const, and for a function outside of the "
                "type `void track(crochet::Tracker&, Type&)`; leave out what the program never "
                "changes");
};
template <typename T>
struct TypeThatCannotBeTracked<T*> {
  static_assert(kCanBeTracked<T*>,
                "crochet cannot track a raw pointer, as nobody could make what it points to: track "
                "that, or use std::unique_ptr or std::shared_ptr");
};
template <typename T>
struct TypeThatCannotBeTracked<T* const> : TypeThatCannotBeTracked<T*> {};

}  // namespace internal

#ifdef __cpp_rtti
template <typename Base>
template <std::derived_from<Base> Class>
requires std::default_initializable<Class> Classes<Base>
&Classes<Base>::add(std::string name) {
  entries_.push_back(
      {.name = std::move(name),
       .is_class_of = [](const Base& object) { return internal::is_exactly<Class>(object); },
       .make = []() -> std::unique_ptr<Base> { return std::make_unique<Class>(); },
       .track =
           [](Tracker& here, Base& object) {
             internal::PartWalks::track_as(here, *internal::dynamic_as<Class>(&object));
           }});
  return *this;
}
#endif

template <typename T>
Tracker& Tracker::operator()(std::string_view name, T&& value) {
  static_assert(
      std::is_lvalue_reference_v<T> || internal::kIsView<T> || internal::TrackedReference<T>,
      "crochet cannot track a temporary: what is tracked must outlive the loop");
  track_at(name, value);
  return *this;
}

template <typename T>
void Tracker::track_at(std::string_view name, T& value) const {
  if constexpr (internal::ColumnMember<T>)
    if (members_ != nullptr) return add_member(checked(name), value);
  Tracker part = beneath(name);
  part.track_value(value);
}

template <typename T>
void Tracker::track_element(T& value) {
  if constexpr (internal::ColumnMember<T>)
    add_member("", value);
  else
    track_value(value);
}

template <typename T>
void Tracker::add_member(std::string_view name, T& value) const {
  if constexpr (std::same_as<T, std::string>) {
    static const Shape scalar = {};
    members_->member({prefix_, name, DType::kString, scalar, 0, &value});
  } else if constexpr (internal::Dense<T>) {
    static const Shape shape = internal::view_of(value).shape;
    members_->member({prefix_, name, internal::kDenseDtype<T>, shape, sizeof(T), &value});
  } else {
    Tracker here = *this;
    const ArrayView array = borrow_array(here, value).view();
    members_->member(
        {prefix_, name, array.dtype, array.shape, array.num_bytes(), array.data, &array});
  }
}

template <typename T>
constexpr bool Tracker::lists_parts() {
  return internal::TracksItself<T> || internal::TrackedByFunction<T> || internal::SavesItself<T> ||
         internal::Serialized<T> || internal::PlainStruct<T>;
}

template <typename T>
constexpr bool Tracker::can_be_member() {
  return internal::ColumnMember<T>;
}

template <typename T>
void Tracker::list_parts(T& value) {
  if constexpr (internal::TracksItself<T>) {
    value.track(*this);
  } else {
    track(*this, value);
  }
}

template <typename T>
void Tracker::track_provider(T& value) {
  add_provider({.list = [&value](Tracker& here) { here.list_parts(value); },
                .make =
                    [&value](const StoredParts& stored) {
                      if constexpr (internal::MakesItself<T>) {
                        value.make(stored);
                      } else {
                        make(stored, value);
                      }
                    }});
}

template <typename T>
void Tracker::track_fixed(T& value) {
  at_fixed().track_value(value);
}

template <typename Walk>
void Tracker::track_whole(WholeValue::Kind kind, const Walk& walk) const {
  visitor_->begin_whole(prefix_, kind);
  walk();
  visitor_->end_whole();
}

template <typename T>
void Tracker::track_keys(T& keys) const {
  Tracker here = *this;
  visitor_->begin_keys();
  here.track_value(keys);
  visitor_->end_keys();
}

template <typename T>
void Tracker::track_value(T& value) {
  using Walks = internal::PartWalks;
  if constexpr (std::is_const_v<T> && internal::kIsView<std::remove_const_t<T>>) {
    std::remove_const_t<T> view = value;
    track_value(view);
  } else if constexpr (std::is_const_v<T> && !internal::kIsHandle<std::remove_const_t<T>>) {
    internal::TypeThatCannotBeTracked<T>();
  } else if constexpr (internal::TracksItself<T> || internal::TrackedByFunction<T>) {
    if constexpr (internal::MakesItself<T> || internal::MadeByFunction<T>) {
      track_provider(value);
    } else {
      list_parts(value);
    }
  } else if constexpr (internal::BorrowableArray<T>) {
    add_own_array(borrow_array(*this, value));
  } else if constexpr (internal::Serialized<T>) {
    track_serialized(*this, value);
  } else if constexpr (internal::SavesItself<T>) {
    add_own_object(
        internal::make_saveable([&value] { return value.save(); },
                                [&value](const TensorMap& state) { value.restore(state); }));
    if constexpr (std::derived_from<T, EpochOrder>) record_epochs(value);
  } else if constexpr (std::same_as<T, Tensor>) {
    add_own_object(internal::saveable_tensor(value, name()));
  } else if constexpr (std::same_as<T, std::string>) {
    add_own_setting(internal::saveable_string(value));
  } else if constexpr (internal::Dense<T>) {
    add_own_array({.view = [&value] { return internal::view_of(value); }});
  } else if constexpr (internal::RandomGenerator<T>) {
    add_own_setting(internal::saveable_generator(value, name()));
  } else if constexpr (internal::Distribution<T>) {
    add_own_object(internal::saveable_distribution(value, name()));
  } else if constexpr (internal::kIsSpan<T>) {
    // It may be a temporary view: the span itself is kept.
    if constexpr (internal::DenseElement<typename T::element_type>) {
      add_own_array({.view = [value] { return internal::view_of_elements(value); }});
    } else {
      Walks::array(*this, value);
    }
  } else if constexpr (internal::GrowableDense<T> || internal::ValArray<T>) {
    add_own_array(internal::borrow_elements(value));
  } else if constexpr (internal::FlatMap<T>) {
    add_own_object(internal::saveable_map(value));
  } else if constexpr (internal::FlatContainer<T>) {
    add_own_object(internal::saveable_container(value));
  } else if constexpr (internal::AtomicLike<T>) {
    add_own_setting(internal::saveable_atomic(value));
  } else if constexpr (internal::BitsetLike<T>) {
    add_own_object(internal::saveable_bitset(value));
  } else if constexpr (internal::kIsArray<T>) {
    Walks::array(*this, value);
  } else if constexpr (internal::PairLike<T>) {
    track_at("first", value.first);
    track_at("second", value.second);
  } else if constexpr (internal::TupleLike<T>) {
    Walks::tuple(*this, value);
  } else if constexpr (internal::MapLike<T>) {
    provide([&value](Tracker& here) {
      if constexpr (internal::NamedKey<typename T::key_type> && internal::HasUniqueKeys<T>) {
        Walks::named_map(here, value);
      } else {
        here.track_whole(WholeValue::Kind::kKeyed, [&] { Walks::keyed_map(here, value); });
      }
    });
  } else if constexpr (internal::SetLike<T>) {
    provide([&value](Tracker& here) {
      here.track_whole(WholeValue::Kind::kKeyed, [&] { Walks::set(here, value); });
    });
  } else if constexpr (internal::Nullable<T>) {
    provide([&value](Tracker& here) { Walks::nullable(here, value); });
  } else if constexpr (internal::VariantLike<T>) {
    provide([&value](Tracker& here) {
      here.track_whole(WholeValue::Kind::kAlternatives, [&] { Walks::variant(here, value); });
    });
  } else if constexpr (internal::Sequence<T>) {
    if (has_rows_) return Walks::sequence(*this, value);
    provide([&value](Tracker& here) { Walks::sequence(here, value); });
  } else if constexpr (internal::PlainStruct<T>) {
    internal::for_each_member(
        value, [this](std::string_view name, auto& member) { this->track_at(name, member); });
  } else {
    internal::TypeThatCannotBeTracked<T>();
  }
}

namespace internal {

template <typename T>
struct Fixed {
  using ReferenceToTracked = void;
  void track(Tracker& tracker) { tracker.track_fixed(value); }

  T& value;
};

}  // namespace internal

// A container whose entries the program determines, not the checkpoint: a restore from a checkpoint
// that has other entries or sizes, here or in what the container owns, is an error, unless options
// of the restore name them.
//
//   loop.track("layers", fixed(layers));
template <typename T>
auto fixed(T& value) {
  return internal::Fixed<T>{value};
}

}  // namespace crochet::inline v0
