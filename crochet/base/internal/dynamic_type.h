// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <type_traits>
#include <typeinfo>

namespace crochet::inline v0::internal {

// The class of an object at run time. Null if the class was compiled without run-time type
// information (-fno-rtti), as a program's hooks may be: `typeid` and `dynamic_cast` would read
// through a null pointer.
template <typename T>
requires std::is_polymorphic_v<T>
const std::type_info* dynamic_type(const T& object) {
  // An object begins with the address of its virtual table, and the entry before that address
  // points to the type information: Itanium C++ ABI, section 2.5.2.
  const std::type_info* const* table = nullptr;
  std::memcpy(&table, static_cast<const void*>(&object), sizeof(table));
  return *(table - 1);
}

// dynamic_cast, which is null also for an object whose class is not known.
template <typename To, typename From>
To* dynamic_as(From* object) {
  return object == nullptr || dynamic_type(*object) == nullptr ? nullptr
                                                               : dynamic_cast<To*>(object);
}

// True if the object is a T and of no class derived from it; false if its class is not known.
template <typename T, typename From>
bool is_exactly(const From& object) {
  const std::type_info* const type = dynamic_type(object);
  return type != nullptr && *type == typeid(T);
}

}  // namespace crochet::inline v0::internal
