// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/session/parted_saveable.h"
#include "crochet/tracking/classes.h"
#include "crochet/tracking/internal/column_walk.h"
#include "crochet/tracking/internal/part_names.h"
#include "crochet/tracking/internal/type_shapes.h"
#ifdef __cpp_rtti
#include "crochet/base/internal/class_name.h"
#endif

namespace crochet::inline v0::internal {

// Throws: InvalidArgumentError for a part that is stored and cannot be made, as its type has no
// default constructor or cannot be moved.
[[noreturn]] CROCHET_EXPORT void throw_cannot_make(const std::string& name);
// Throws: FailedPreconditionError for a variant without a value.
[[noreturn]] CROCHET_EXPORT void throw_valueless(const std::string& name);
// Throws: InvalidArgumentError for keys that do not match the values of a stored map, or that are
// stored twice.
[[noreturn]] CROCHET_EXPORT void throw_bad_keys(const std::string& name);
// Of a fixed container.
[[noreturn]] CROCHET_EXPORT void throw_other_keys(const std::string& name);
// Throws: InvalidArgumentError for a map whose keys are values, if only some parts are restored.
[[noreturn]] CROCHET_EXPORT void throw_partial_keys(const std::string& name);

// A text that contains the name of the type.
template <typename T>
const char* signature_of() {
  return __PRETTY_FUNCTION__;
}
// Throws: FailedPreconditionError for an object of another class than the pointer to it says, which
// is not among those that crochet_classes() lists. `base` is the signature_of() the pointer's
// class.
[[noreturn]] CROCHET_EXPORT void throw_unknown_class(const std::string& name,
                                                     const std::string& found, const char* base,
                                                     bool has_list);
// Throws: InvalidArgumentError for the name of a class that crochet_classes() does not list.
[[noreturn]] CROCHET_EXPORT void throw_unknown_class_name(const std::string& name,
                                                          const std::string& found,
                                                          bool has_object);

// How many elements are stored under "0", "1", ...
CROCHET_EXPORT size_t stored_size(const StoredParts& stored);

// Whether a restore makes objects of a type that the program lacks. Support for a library may say
// no for types whose default constructor does not compile.
template <typename T>
inline constexpr bool kCanBeMade = std::default_initializable<T>;

// Lists the parts of a value whose structure may change: as it is in a save, and, where a
// checkpoint is restored, as it is stored. `here` is a Tracker at the value.
struct PartWalks {
  template <typename T>
  static consteval void check_order() {
    static_assert(!IsHashed<T> || Ordered<typename T::key_type>,
                  "crochet saves hashed containers in the order of their keys: give this key an "
                  "operator<");
  }

  // A value that is made aside for a plan.
  template <typename T, typename Here>
  static std::unique_ptr<T> trial(const Here& here) {
    if constexpr (kCanBeMade<T>) {
      return std::make_unique<T>();
    } else {
      throw_cannot_make(here.prefix_);
    }
  }

  template <typename Here, typename T>
  static void sequence(Here& here, T& value) {
    using Part = typename T::value_type;
    auto size = static_cast<size_t>(std::distance(value.begin(), value.end()));
    if (lists_columns(here, value, size)) return;
    here.check_needs_no_rows("a sequence whose elements are stored one by one");
    if (const StoredParts stored = here.stored(); !stored.empty()) {
      const size_t wanted = stored_size(stored);
      if (!here.is_plan()) resize(here, value, size, wanted);
      size = wanted;
    }
    size_t i = 0;
    for (auto each = value.begin(); each != value.end() && i < size; ++each, ++i)
      here.track_at(std::to_string(i), *each);
    for (; i < size; ++i) {
      const auto made = trial<Part>(here);
      here.track_at(std::to_string(i), *made);
    }
    if (size == 0) here.mark(kEmptyName);
  }

  // True if the elements are listed as columns.
  template <typename Here, typename T>
  static bool lists_columns(Here& here, T& value, size_t size) {
    using Part = typename T::value_type;
    if constexpr (ColumnWalk::may_list<Here, Part>()) {
      std::unique_ptr<Part> like_made;
      if constexpr (kCanBeMade<Part>) {
        if (size == 0) like_made = std::make_unique<Part>();
      } else if (const StoredParts stored = here.stored(); size == 0 && !stored.empty()) {
        if (stored.find(kEmptyName) == nullptr) throw_cannot_make(here.prefix_);
      }
      return ColumnWalk::list(here, value, size == 0 ? like_made.get() : &*value.begin(),
                              [&](size_t wanted) {
                                if (!here.is_plan()) return resize(here, value, size, wanted);
                                if (!kCanBeMade<Part> && wanted > size)
                                  throw_cannot_make(here.prefix_);
                              });
    } else {
      return false;
    }
  }

  template <typename Here, typename T>
  static void resize(const Here& here, T& value, size_t size, size_t wanted) {
    using Part = typename T::value_type;
    if constexpr (requires { value.pop_back(); }) {
      for (; size > wanted; --size) value.pop_back();
    }
    if (size == wanted) return;
    if constexpr (kCanBeMade<Part> && std::move_constructible<Part>) {
      value.resize(wanted);
    } else {
      throw_cannot_make(here.prefix_);
    }
  }

  // A map whose keys become names.
  template <typename Here, typename T>
  static void named_map(Here& here, T& value) {
    using Key = typename T::key_type;
    using Mapped = typename T::mapped_type;
    std::set<Key> keys;
    for (const auto& entry : value) keys.insert(entry.first);
    if (const StoredParts stored = here.stored(); !stored.empty()) {
      std::set<Key> wanted;
      for (const std::string& name : stored.names())
        if (std::optional<Key> key = key_of_name<Key>(name)) wanted.insert(std::move(*key));
      if (!here.is_plan()) {
        for (const Key& key : keys)
          if (!wanted.contains(key)) value.erase(key);
        for (const Key& key : wanted)
          if (!keys.contains(key)) make_entry<Mapped>(here, value, key);
      }
      keys = std::move(wanted);
    }
    for (const Key& key : keys) {
      const std::string name = name_of_key(key);
      if (const auto found = value.find(key); found != value.end()) {
        here.track_at(name, found->second);
      } else {
        const auto made = trial<Mapped>(here);
        here.track_at(name, *made);
      }
    }
    if (keys.empty()) here.mark(kEmptyName);
  }

  template <typename Mapped, typename Here, typename T, typename Key>
  static void make_entry(const Here& here, T& value, const Key& key) {
    if constexpr (kCanBeMade<Mapped>) {
      value.try_emplace(key);
    } else {
      throw_cannot_make(here.prefix_);
    }
  }

  // A map whose keys are values with parts, or that may have a key several times: the keys are a
  // vector, and the values are in the same order.
  template <typename Here, typename T>
  static void keyed_map(Here& here, T& value) {
    using Key = typename T::key_type;
    using Mapped = typename T::mapped_type;
    check_order<T>();
    const auto keys = std::make_shared<std::vector<Key>>();
    Here values = here.beneath("values");
    const StoredParts stored = here.stored();
    const bool is_own = stored.empty() || stored.is_own();
    std::vector<Mapped*> places;
    // A fixed container has as many keys as are stored.
    if (is_own || here.is_fixed_)
      for (const auto& [key, place] : entries_of(value)) {
        keys->push_back(key);
        places.push_back(place);
      }
    if (is_own) {
      here.keep(keys);
      here.beneath("keys").track_keys(*keys);
      for (size_t i = 0; i < places.size(); ++i) values.track_at(std::to_string(i), *places[i]);
      return;
    }
    if (stored.is_partial()) throw_partial_keys(here.prefix_);
    here.beneath("keys").track_keys(*keys);
    const size_t size = stored_size(stored.beneath("values"));
    if (here.is_plan()) return plan_values(here, values, value, size);
    if (keys->size() != size) throw_bad_keys(here.prefix_);
    EntryChanges changes{.was_empty = value.empty()};
    T before = std::move(value);
    value.clear();
    for (size_t i = 0; i < keys->size(); ++i) {
      const Key& key = (*keys)[i];
      auto node = before.extract(key);
      changes.has_made |= node.empty();
      auto place = value.end();
      if (!node.empty()) {
        insert_node(value, std::move(node), place);
      } else if constexpr (kCanBeMade<Mapped>) {
        if constexpr (HasUniqueKeys<T>) {
          place = value.try_emplace(key).first;
        } else {
          place = value.emplace(key, Mapped());
        }
      } else {
        throw_cannot_make(here.prefix_);
      }
      if (value.size() != i + 1) throw_bad_keys(here.prefix_);
      values.track_at(std::to_string(i), place->second);
    }
    changes.has_dropped = !before.empty();
    if (here.is_fixed_ && (changes.has_dropped || changes.has_made)) throw_other_keys(here.prefix_);
    here.record_entries(changes);
  }

  // By their numbers, as the keys are not known yet.
  template <typename Here, typename T>
  static void plan_values(const Here& here, const Here& values, T& value, size_t size) {
    size_t i = 0;
    for (const auto& [key, place] : entries_of(value))
      if (i < size) values.track_at(std::to_string(i++), *place);
    for (; i < size; ++i) {
      const auto made = trial<typename T::mapped_type>(here);
      values.track_at(std::to_string(i), *made);
    }
  }

  // The values in the order of the map, or if it has none, of their keys.
  template <typename T>
  static auto entries_of(T& value) {
    using Key = typename T::key_type;
    using Place = typename T::mapped_type*;
    if constexpr (IsHashed<T> && Ordered<Key>) {
      std::multimap<Key, Place> entries;
      for (auto& [key, mapped] : value) entries.emplace(key, &mapped);
      return entries;
    } else {
      std::vector<std::pair<Key, Place>> entries;
      for (auto& [key, mapped] : value) entries.emplace_back(key, &mapped);
      return entries;
    }
  }

  template <typename T, typename Node, typename Place>
  static void insert_node(T& value, Node node, Place& place) {
    if constexpr (HasUniqueKeys<T>) {
      place = value.insert(std::move(node)).position;
    } else {
      place = value.insert(std::move(node));
    }
  }

  // A set whose elements are values with parts: saved as a vector.
  template <typename Here, typename T>
  static void set(Here& here, T& value) {
    using Key = typename T::key_type;
    check_order<T>();
    const auto keys = std::make_shared<std::vector<Key>>();
    const StoredParts stored = here.stored();
    const bool is_own = stored.empty() || stored.is_own();
    // A fixed container has as many keys as are stored.
    if (is_own || here.is_fixed_) {
      if constexpr (IsHashed<T> && Ordered<Key>) {
        const std::multiset<Key> sorted(value.begin(), value.end());
        keys->assign(sorted.begin(), sorted.end());
      } else {
        keys->assign(value.begin(), value.end());
      }
    }
    if (is_own) {
      here.keep(keys);
      return here.track_keys(*keys);
    }
    if (stored.is_partial()) throw_partial_keys(here.prefix_);
    here.track_keys(*keys);
    if (here.is_plan()) return;
    EntryChanges changes{.was_empty = value.empty()};
    T before = std::move(value);
    value.clear();
    for (Key& key : *keys) {
      const auto known = before.find(key);
      changes.has_made |= known == before.end();
      if (known != before.end()) before.erase(known);
      value.insert(std::move(key));
    }
    if (value.size() != keys->size()) throw_bad_keys(here.prefix_);
    changes.has_dropped = !before.empty();
    if (here.is_fixed_ && (changes.has_dropped || changes.has_made)) throw_other_keys(here.prefix_);
    here.record_entries(changes);
  }

  // A value that may be absent. Its parts have the names that they would have in its place.
  template <typename Here, typename T>
  static void nullable(Here& here, T& value) {
    using Held = typename NulledOf<T>::Type;
    if constexpr (kIsPointer<T> && BaseClass<Held>) {
#ifdef __cpp_rtti
      if constexpr (ListsClasses<Held>)
        return here.track_whole(WholeValue::Kind::kObject, [&] {
          object_of_class(here, value, crochet_classes(static_cast<const Held*>(nullptr)));
        });
      else
        check_class<Held>(here, value.get());
#else
      static_assert(!BaseClass<Held>,
                    "crochet cannot tell the class of an object without run-time type information: "
                    "declare the class final, or compile with -frtti");
#endif
    }
    bool has_value = static_cast<bool>(value);
    if (const StoredParts stored = here.stored(); !stored.empty()) {
      const bool wanted = stored.find(kNullName) == nullptr;
      if (!here.is_plan()) {
        if (!wanted) value.reset();
        if (wanted && !has_value) make_held<Held>(here, value);
      }
      if (wanted && here.is_plan() && !has_value) {
        const auto made = trial<Held>(here);
        return held(here, *made);
      }
      has_value = wanted;
    }
    if (has_value)
      held(here, *value);
    else
      here.mark(kNullName);
  }

#ifdef __cpp_rtti
  // The class must be the pointer's, as a restore would make an object of that one.
  template <typename Held, typename Here>
  static void check_class(const Here& here, const Held* object) {
    static_assert(!std::is_abstract_v<Held>,
                  "crochet cannot make an object of an abstract class at a restore: list the "
                  "classes that are derived from it by crochet_classes(), see "
                  "crochet/tracking/classes.h; or track the object that the program makes itself");
    if (object != nullptr && !is_exactly<Held>(*object))
      throw_unknown_class(here.name(), class_name_of(*object, "?"), signature_of<Held>(), false);
  }

  // The name of the class is that of a part, so that it is known before any value is read.
  template <typename Here, typename T, typename Base>
  static void object_of_class(Here& here, T& value, const Classes<Base>& classes) {
    const auto* own = value ? classes.of(*value) : nullptr;
    if (value && own == nullptr)
      throw_unknown_class(here.name(), class_name_of(*value, "?"), signature_of<Base>(), true);
    const StoredParts stored = here.stored();
    if (stored.empty() || stored.find(kNullName) != nullptr) {
      if (!stored.empty() && !here.is_plan()) value.reset();
      if (own == nullptr || !stored.empty()) return here.mark(kNullName);
      return of_class(here, *value, *own);
    }
    const std::vector<std::string> names = stored.beneath(kClassName).names();
    const auto* const wanted = names.empty() ? own : classes.named(names.front());
    if (wanted == nullptr)
      throw_unknown_class_name(here.name(), names.empty() ? "" : names.front(), own != nullptr);
    if (own == wanted) return of_class(here, *value, *own);
    std::unique_ptr<Base> made = wanted->make();
    if (here.is_plan()) return of_class(here, *made, *wanted);
    value = std::move(made);
    of_class(here, *value, *wanted);
  }
  template <typename Here, typename Base, typename Entry>
  static void of_class(Here& here, Base& object, const Entry& entry) {
    here.beneath(kClassName).mark(entry.name);
    entry.track(here, object);
  }
#endif
  template <typename Here, typename T>
  static void track_as(Here& here, T& value) {
    here.track_value(value);
  }

  template <typename Here, typename Held>
  static void held(Here& here, Held& value) {
    if constexpr (Nullable<Held>) {
      here.track_at("value", value);
    } else {
      here.track_value(value);
    }
  }

  template <typename Held, typename Here, typename T>
  static void make_held(const Here& here, T& value) {
    constexpr bool kHeldCanBeMade = kCanBeMade<Held>;
    if constexpr (kHeldCanBeMade && requires { value.emplace(); }) {
      value.emplace();
    } else if constexpr (kHeldCanBeMade && std::is_assignable_v<T&, std::unique_ptr<Held>>) {
      value = std::make_unique<Held>();
    } else {
      throw_cannot_make(here.prefix_);
    }
  }

  // Beneath the number of the alternative.
  template <typename Here, typename T>
  static void variant(Here& here, T& value) {
    size_t index = value.index();
    if (const StoredParts stored = here.stored(); !stored.empty())
      for (size_t i = Alternatives<T>::kCount; i-- > 0;)
        if (!stored.beneath(std::to_string(i)).empty()) index = i;
    if (index >= Alternatives<T>::kCount) throw_valueless(here.prefix_);
    [&]<size_t... kIndices>(std::index_sequence<kIndices...>) {
      ((kIndices == index ? alternative<kIndices>(here, value) : void()), ...);
    }
    (std::make_index_sequence<Alternatives<T>::kCount>());
  }

  template <size_t kIndex, typename Here, typename T>
  static void alternative(Here& here, T& value) {
    using Held = std::remove_reference_t<decltype(get<kIndex>(value))>;
    const std::string name = std::to_string(kIndex);
    if (value.index() == kIndex) return alternative_value(here, name, get<kIndex>(value));
    if (here.is_plan()) {
      const auto made = trial<Held>(here);
      return alternative_value(here, name, *made);
    }
    if constexpr (kCanBeMade<Held>) {
      value.template emplace<kIndex>();
      alternative_value(here, name, get<kIndex>(value));
    } else {
      throw_cannot_make(here.prefix_);
    }
  }

  // An alternative without any state, such as std::monostate, is only marked.
  template <typename Here, typename Held>
  static void alternative_value(Here& here, const std::string& name, Held& value) {
    if constexpr (std::is_empty_v<Held> && !Here::template lists_parts<Held>()) {
      here.mark(name);
    } else {
      here.track_at(name, value);
    }
  }

  // Parts whose number never changes.
  template <typename Here, typename T>
  static void array(Here& here, T& value) {
    using Part = std::remove_reference_t<decltype(*std::begin(value))>;
    if constexpr (ColumnWalk::may_list<Here, Part>()) {
      if (std::begin(value) != std::end(value)) {
        Part* const first = &*std::begin(value);
        if (here.is_direct() && ColumnWalk::members_of(here, *first).are_columns())
          return provide_array(here, value);
        if (here.visitor_ != nullptr && !here.has_rows() &&
            ColumnWalk::list(here, value, first, nullptr))
          return;
      }
    }
    here.check_needs_no_rows("an array of fixed size");
    size_t i = 0;
    for (auto& part : value) here.track_at(std::to_string(i++), part);
  }

  template <typename Here, typename T>
  static void provide_array(Here& here, T& value) {
    if constexpr (kIsSpan<T>) {  // It may be a temporary view.
      here.provide([value](Here& inner) mutable { array(inner, value); });
    } else {
      here.provide([&value](Here& inner) { array(inner, value); });
    }
  }

  template <typename Here, typename T>
  static void tuple(Here& here, T& value) {
    [&]<size_t... kIndices>(std::index_sequence<kIndices...>) {
      (here.track_at(std::to_string(kIndices), get<kIndices>(value)), ...);
    }
    (std::make_index_sequence<std::tuple_size<T>::value>());
  }
};

}  // namespace crochet::inline v0::internal
