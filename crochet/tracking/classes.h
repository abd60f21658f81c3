// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace crochet::inline v0 {

class Tracker;

// The classes of objects to which pointers to a base class point, with the names under which
// checkpoints have them. A function of this name in the namespace of the base class lists them, so
// that such pointers can be tracked, and a restore makes objects of the same classes:
//
//   crochet::Classes<Agent> crochet_classes(const Agent*) {
//     return crochet::Classes<Agent>().add<Trader>("trader").add<Bank>("bank");
//   }
//
// Parts are listed by each class itself, whether or not the base class lists them by a virtual
// function. Pointers to a class that nothing is derived from need no list. Requires run-time type
// information in the program.
template <typename Base>
class Classes {
 public:
  // Requires: a name that is not used before, and has no "/" or "%".
  template <std::derived_from<Base> Class>
  requires std::default_initializable<Class> Classes& add(std::string name);

  struct Entry {
    std::string name;
    bool (*is_class_of)(const Base& object);
    std::unique_ptr<Base> (*make)();
    void (*track)(Tracker& here, Base& object);
  };
  // The entry of the object's class, or null.
  const Entry* of(const Base& object) const {
    return find([&](const Entry& each) { return each.is_class_of(object); });
  }
  const Entry* named(const std::string& name) const {
    return find([&](const Entry& each) { return each.name == name; });
  }

 private:
  template <typename Is>
  const Entry* find(const Is& is) const {
    const auto found = std::ranges::find_if(entries_, is);
    return found == entries_.end() ? nullptr : &*found;
  }

  std::vector<Entry> entries_;
};

namespace internal {

// True if a base class lists the classes that are derived from it.
template <typename T>
concept ListsClasses = requires(const T* object) {
  { crochet_classes(object) } -> std::same_as<Classes<T>>;
};

// A class of which an object may be of a derived class.
template <typename T>
concept BaseClass = std::is_polymorphic_v<T> && !std::is_final_v<T>;

}  // namespace internal
}  // namespace crochet::inline v0
