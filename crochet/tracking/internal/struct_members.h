// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include "crochet/tracking/internal/type_shapes.h"

namespace crochet::inline v0::internal {

// The members of a struct that says nothing about itself, with their names. C++20 has no list of
// them: how many there are is how many pairs of braces initialise the struct, a structured binding
// gives them, and a compiler writes the name of a member where it is a template's argument.

inline constexpr size_t kMaxMembers = 64;

// The names of the first n members, and as many pairs of braces.
// clang-format off
#define CROCHET_MEMBERS_1 m1
#define CROCHET_BRACES_1 {}
#define CROCHET_MEMBERS_2 CROCHET_MEMBERS_1, m2
#define CROCHET_BRACES_2 CROCHET_BRACES_1, {}
#define CROCHET_MEMBERS_3 CROCHET_MEMBERS_2, m3
#define CROCHET_BRACES_3 CROCHET_BRACES_2, {}
#define CROCHET_MEMBERS_4 CROCHET_MEMBERS_3, m4
#define CROCHET_BRACES_4 CROCHET_BRACES_3, {}
#define CROCHET_MEMBERS_5 CROCHET_MEMBERS_4, m5
#define CROCHET_BRACES_5 CROCHET_BRACES_4, {}
#define CROCHET_MEMBERS_6 CROCHET_MEMBERS_5, m6
#define CROCHET_BRACES_6 CROCHET_BRACES_5, {}
#define CROCHET_MEMBERS_7 CROCHET_MEMBERS_6, m7
#define CROCHET_BRACES_7 CROCHET_BRACES_6, {}
#define CROCHET_MEMBERS_8 CROCHET_MEMBERS_7, m8
#define CROCHET_BRACES_8 CROCHET_BRACES_7, {}
#define CROCHET_MEMBERS_9 CROCHET_MEMBERS_8, m9
#define CROCHET_BRACES_9 CROCHET_BRACES_8, {}
#define CROCHET_MEMBERS_10 CROCHET_MEMBERS_9, m10
#define CROCHET_BRACES_10 CROCHET_BRACES_9, {}
#define CROCHET_MEMBERS_11 CROCHET_MEMBERS_10, m11
#define CROCHET_BRACES_11 CROCHET_BRACES_10, {}
#define CROCHET_MEMBERS_12 CROCHET_MEMBERS_11, m12
#define CROCHET_BRACES_12 CROCHET_BRACES_11, {}
#define CROCHET_MEMBERS_13 CROCHET_MEMBERS_12, m13
#define CROCHET_BRACES_13 CROCHET_BRACES_12, {}
#define CROCHET_MEMBERS_14 CROCHET_MEMBERS_13, m14
#define CROCHET_BRACES_14 CROCHET_BRACES_13, {}
#define CROCHET_MEMBERS_15 CROCHET_MEMBERS_14, m15
#define CROCHET_BRACES_15 CROCHET_BRACES_14, {}
#define CROCHET_MEMBERS_16 CROCHET_MEMBERS_15, m16
#define CROCHET_BRACES_16 CROCHET_BRACES_15, {}
#define CROCHET_MEMBERS_17 CROCHET_MEMBERS_16, m17
#define CROCHET_BRACES_17 CROCHET_BRACES_16, {}
#define CROCHET_MEMBERS_18 CROCHET_MEMBERS_17, m18
#define CROCHET_BRACES_18 CROCHET_BRACES_17, {}
#define CROCHET_MEMBERS_19 CROCHET_MEMBERS_18, m19
#define CROCHET_BRACES_19 CROCHET_BRACES_18, {}
#define CROCHET_MEMBERS_20 CROCHET_MEMBERS_19, m20
#define CROCHET_BRACES_20 CROCHET_BRACES_19, {}
#define CROCHET_MEMBERS_21 CROCHET_MEMBERS_20, m21
#define CROCHET_BRACES_21 CROCHET_BRACES_20, {}
#define CROCHET_MEMBERS_22 CROCHET_MEMBERS_21, m22
#define CROCHET_BRACES_22 CROCHET_BRACES_21, {}
#define CROCHET_MEMBERS_23 CROCHET_MEMBERS_22, m23
#define CROCHET_BRACES_23 CROCHET_BRACES_22, {}
#define CROCHET_MEMBERS_24 CROCHET_MEMBERS_23, m24
#define CROCHET_BRACES_24 CROCHET_BRACES_23, {}
#define CROCHET_MEMBERS_25 CROCHET_MEMBERS_24, m25
#define CROCHET_BRACES_25 CROCHET_BRACES_24, {}
#define CROCHET_MEMBERS_26 CROCHET_MEMBERS_25, m26
#define CROCHET_BRACES_26 CROCHET_BRACES_25, {}
#define CROCHET_MEMBERS_27 CROCHET_MEMBERS_26, m27
#define CROCHET_BRACES_27 CROCHET_BRACES_26, {}
#define CROCHET_MEMBERS_28 CROCHET_MEMBERS_27, m28
#define CROCHET_BRACES_28 CROCHET_BRACES_27, {}
#define CROCHET_MEMBERS_29 CROCHET_MEMBERS_28, m29
#define CROCHET_BRACES_29 CROCHET_BRACES_28, {}
#define CROCHET_MEMBERS_30 CROCHET_MEMBERS_29, m30
#define CROCHET_BRACES_30 CROCHET_BRACES_29, {}
#define CROCHET_MEMBERS_31 CROCHET_MEMBERS_30, m31
#define CROCHET_BRACES_31 CROCHET_BRACES_30, {}
#define CROCHET_MEMBERS_32 CROCHET_MEMBERS_31, m32
#define CROCHET_BRACES_32 CROCHET_BRACES_31, {}
#define CROCHET_MEMBERS_33 CROCHET_MEMBERS_32, m33
#define CROCHET_BRACES_33 CROCHET_BRACES_32, {}
#define CROCHET_MEMBERS_34 CROCHET_MEMBERS_33, m34
#define CROCHET_BRACES_34 CROCHET_BRACES_33, {}
#define CROCHET_MEMBERS_35 CROCHET_MEMBERS_34, m35
#define CROCHET_BRACES_35 CROCHET_BRACES_34, {}
#define CROCHET_MEMBERS_36 CROCHET_MEMBERS_35, m36
#define CROCHET_BRACES_36 CROCHET_BRACES_35, {}
#define CROCHET_MEMBERS_37 CROCHET_MEMBERS_36, m37
#define CROCHET_BRACES_37 CROCHET_BRACES_36, {}
#define CROCHET_MEMBERS_38 CROCHET_MEMBERS_37, m38
#define CROCHET_BRACES_38 CROCHET_BRACES_37, {}
#define CROCHET_MEMBERS_39 CROCHET_MEMBERS_38, m39
#define CROCHET_BRACES_39 CROCHET_BRACES_38, {}
#define CROCHET_MEMBERS_40 CROCHET_MEMBERS_39, m40
#define CROCHET_BRACES_40 CROCHET_BRACES_39, {}
#define CROCHET_MEMBERS_41 CROCHET_MEMBERS_40, m41
#define CROCHET_BRACES_41 CROCHET_BRACES_40, {}
#define CROCHET_MEMBERS_42 CROCHET_MEMBERS_41, m42
#define CROCHET_BRACES_42 CROCHET_BRACES_41, {}
#define CROCHET_MEMBERS_43 CROCHET_MEMBERS_42, m43
#define CROCHET_BRACES_43 CROCHET_BRACES_42, {}
#define CROCHET_MEMBERS_44 CROCHET_MEMBERS_43, m44
#define CROCHET_BRACES_44 CROCHET_BRACES_43, {}
#define CROCHET_MEMBERS_45 CROCHET_MEMBERS_44, m45
#define CROCHET_BRACES_45 CROCHET_BRACES_44, {}
#define CROCHET_MEMBERS_46 CROCHET_MEMBERS_45, m46
#define CROCHET_BRACES_46 CROCHET_BRACES_45, {}
#define CROCHET_MEMBERS_47 CROCHET_MEMBERS_46, m47
#define CROCHET_BRACES_47 CROCHET_BRACES_46, {}
#define CROCHET_MEMBERS_48 CROCHET_MEMBERS_47, m48
#define CROCHET_BRACES_48 CROCHET_BRACES_47, {}
#define CROCHET_MEMBERS_49 CROCHET_MEMBERS_48, m49
#define CROCHET_BRACES_49 CROCHET_BRACES_48, {}
#define CROCHET_MEMBERS_50 CROCHET_MEMBERS_49, m50
#define CROCHET_BRACES_50 CROCHET_BRACES_49, {}
#define CROCHET_MEMBERS_51 CROCHET_MEMBERS_50, m51
#define CROCHET_BRACES_51 CROCHET_BRACES_50, {}
#define CROCHET_MEMBERS_52 CROCHET_MEMBERS_51, m52
#define CROCHET_BRACES_52 CROCHET_BRACES_51, {}
#define CROCHET_MEMBERS_53 CROCHET_MEMBERS_52, m53
#define CROCHET_BRACES_53 CROCHET_BRACES_52, {}
#define CROCHET_MEMBERS_54 CROCHET_MEMBERS_53, m54
#define CROCHET_BRACES_54 CROCHET_BRACES_53, {}
#define CROCHET_MEMBERS_55 CROCHET_MEMBERS_54, m55
#define CROCHET_BRACES_55 CROCHET_BRACES_54, {}
#define CROCHET_MEMBERS_56 CROCHET_MEMBERS_55, m56
#define CROCHET_BRACES_56 CROCHET_BRACES_55, {}
#define CROCHET_MEMBERS_57 CROCHET_MEMBERS_56, m57
#define CROCHET_BRACES_57 CROCHET_BRACES_56, {}
#define CROCHET_MEMBERS_58 CROCHET_MEMBERS_57, m58
#define CROCHET_BRACES_58 CROCHET_BRACES_57, {}
#define CROCHET_MEMBERS_59 CROCHET_MEMBERS_58, m59
#define CROCHET_BRACES_59 CROCHET_BRACES_58, {}
#define CROCHET_MEMBERS_60 CROCHET_MEMBERS_59, m60
#define CROCHET_BRACES_60 CROCHET_BRACES_59, {}
#define CROCHET_MEMBERS_61 CROCHET_MEMBERS_60, m61
#define CROCHET_BRACES_61 CROCHET_BRACES_60, {}
#define CROCHET_MEMBERS_62 CROCHET_MEMBERS_61, m62
#define CROCHET_BRACES_62 CROCHET_BRACES_61, {}
#define CROCHET_MEMBERS_63 CROCHET_MEMBERS_62, m63
#define CROCHET_BRACES_63 CROCHET_BRACES_62, {}
#define CROCHET_MEMBERS_64 CROCHET_MEMBERS_63, m64
#define CROCHET_BRACES_64 CROCHET_BRACES_63, {}
#define CROCHET_BRACES_65 CROCHET_BRACES_64, {}
// clang-format on

// Has the base classes of T, if it has any.
template <typename T>
struct AnyBaseOf {
  template <typename Base>
  requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>) operator Base() const;
};

struct AnyValue {
  template <typename T>
  operator T() const;
};

// How many members T has; 0 for a struct without any, with base classes, with more than
// kMaxMembers, or with one that cannot be initialised by {}, such as of a class whose constructor
// is explicit: the pairs of braces end before it.
template <typename T>
consteval size_t num_members() {
  // clang-format off
  if constexpr (requires { T{AnyBaseOf<T>{}}; } || requires { T{CROCHET_BRACES_65}; }) return 0;
#define CROCHET_COUNT(n)                                     \
  else if constexpr (requires { T{CROCHET_BRACES_##n}; }) {   \
    const bool has_more = requires { T{CROCHET_BRACES_##n, AnyValue{}}; }; \
    return has_more ? 0 : (n);                               \
  }
  CROCHET_COUNT(64) CROCHET_COUNT(63) CROCHET_COUNT(62) CROCHET_COUNT(61)
  CROCHET_COUNT(60) CROCHET_COUNT(59) CROCHET_COUNT(58) CROCHET_COUNT(57)
  CROCHET_COUNT(56) CROCHET_COUNT(55) CROCHET_COUNT(54) CROCHET_COUNT(53)
  CROCHET_COUNT(52) CROCHET_COUNT(51) CROCHET_COUNT(50) CROCHET_COUNT(49)
  CROCHET_COUNT(48) CROCHET_COUNT(47) CROCHET_COUNT(46) CROCHET_COUNT(45)
  CROCHET_COUNT(44) CROCHET_COUNT(43) CROCHET_COUNT(42) CROCHET_COUNT(41)
  CROCHET_COUNT(40) CROCHET_COUNT(39) CROCHET_COUNT(38) CROCHET_COUNT(37)
  CROCHET_COUNT(36) CROCHET_COUNT(35) CROCHET_COUNT(34) CROCHET_COUNT(33)
  CROCHET_COUNT(32) CROCHET_COUNT(31) CROCHET_COUNT(30) CROCHET_COUNT(29)
  CROCHET_COUNT(28) CROCHET_COUNT(27) CROCHET_COUNT(26) CROCHET_COUNT(25)
  CROCHET_COUNT(24) CROCHET_COUNT(23) CROCHET_COUNT(22) CROCHET_COUNT(21)
  CROCHET_COUNT(20) CROCHET_COUNT(19) CROCHET_COUNT(18) CROCHET_COUNT(17)
  CROCHET_COUNT(16) CROCHET_COUNT(15) CROCHET_COUNT(14) CROCHET_COUNT(13)
  CROCHET_COUNT(12) CROCHET_COUNT(11) CROCHET_COUNT(10) CROCHET_COUNT(9)
  CROCHET_COUNT(8) CROCHET_COUNT(7) CROCHET_COUNT(6) CROCHET_COUNT(5)
  CROCHET_COUNT(4) CROCHET_COUNT(3) CROCHET_COUNT(2) CROCHET_COUNT(1)
#undef CROCHET_COUNT
      // clang-format on
      return 0;
}

// A struct whose members are all public, and are found.
template <typename T>
concept PlainStruct = std::is_class_v<T> && std::is_aggregate_v<T> && !std::is_const_v<T> &&
                      !is_standard<T>() && (num_members<T>() > 0);

// Calls `visit` with all members.
template <typename T, typename Visit>
constexpr decltype(auto) with_members(T& value, const Visit& visit) {
  constexpr size_t kSize = num_members<std::remove_const_t<T>>();
  static_assert(kSize > 0 && kSize <= kMaxMembers);
  if constexpr (false) {
  }
// clang-format off
#define CROCHET_VISIT(n)                 \
  else if constexpr (kSize == (n)) {     \
    auto& [CROCHET_MEMBERS_##n] = value; \
    return visit(CROCHET_MEMBERS_##n);   \
  }
  CROCHET_VISIT(1) CROCHET_VISIT(2) CROCHET_VISIT(3) CROCHET_VISIT(4)
  CROCHET_VISIT(5) CROCHET_VISIT(6) CROCHET_VISIT(7) CROCHET_VISIT(8)
  CROCHET_VISIT(9) CROCHET_VISIT(10) CROCHET_VISIT(11) CROCHET_VISIT(12)
  CROCHET_VISIT(13) CROCHET_VISIT(14) CROCHET_VISIT(15) CROCHET_VISIT(16)
  CROCHET_VISIT(17) CROCHET_VISIT(18) CROCHET_VISIT(19) CROCHET_VISIT(20)
  CROCHET_VISIT(21) CROCHET_VISIT(22) CROCHET_VISIT(23) CROCHET_VISIT(24)
  CROCHET_VISIT(25) CROCHET_VISIT(26) CROCHET_VISIT(27) CROCHET_VISIT(28)
  CROCHET_VISIT(29) CROCHET_VISIT(30) CROCHET_VISIT(31) CROCHET_VISIT(32)
  CROCHET_VISIT(33) CROCHET_VISIT(34) CROCHET_VISIT(35) CROCHET_VISIT(36)
  CROCHET_VISIT(37) CROCHET_VISIT(38) CROCHET_VISIT(39) CROCHET_VISIT(40)
  CROCHET_VISIT(41) CROCHET_VISIT(42) CROCHET_VISIT(43) CROCHET_VISIT(44)
  CROCHET_VISIT(45) CROCHET_VISIT(46) CROCHET_VISIT(47) CROCHET_VISIT(48)
  CROCHET_VISIT(49) CROCHET_VISIT(50) CROCHET_VISIT(51) CROCHET_VISIT(52)
  CROCHET_VISIT(53) CROCHET_VISIT(54) CROCHET_VISIT(55) CROCHET_VISIT(56)
  CROCHET_VISIT(57) CROCHET_VISIT(58) CROCHET_VISIT(59) CROCHET_VISIT(60)
  CROCHET_VISIT(61) CROCHET_VISIT(62) CROCHET_VISIT(63) CROCHET_VISIT(64)
// clang-format on
#undef CROCHET_VISIT
}

// An object that is nowhere: only the addresses of its members are used, as arguments of templates.
template <typename T>
struct Nowhere {
  T value;
};
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-internal"
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
template <typename T>
extern const Nowhere<T> kNowhere;

// A pointer to a part of an object cannot be an argument itself with every compiler.
template <typename Pointer>
struct PointerArgument {
  Pointer pointer;
};

template <size_t kIndex, typename First, typename... Others>
constexpr auto nth_pointer(const First& first, const Others&... others) {
  if constexpr (kIndex == 0) {
    return PointerArgument<const First*>{&first};
  } else {
    return nth_pointer<kIndex - 1>(others...);
  }
}

// "... {&kNowhere.value.rate}]" with clang, "... value.Options::rate)}]" with g++.
template <auto kPointer>
constexpr const char* text_of_argument() {
  return __PRETTY_FUNCTION__;
}
template <auto kPointer>
consteval std::string_view member_name() {
  std::string_view text = text_of_argument<kPointer>();
  const auto is_of_a_name = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           static_cast<unsigned char>(c) >= 0x80;
  };
  while (!text.empty() && !is_of_a_name(text.back())) text.remove_suffix(1);
  size_t begin = text.size();
  while (begin > 0 && is_of_a_name(text[begin - 1])) --begin;
  return text.substr(begin);
}

template <typename T, size_t kIndex>
inline constexpr std::string_view kMemberName = member_name<with_members(
    kNowhere<T>.value, [](const auto&... members) { return nth_pointer<kIndex>(members...); })>();
#ifdef __clang__
#pragma clang diagnostic pop
#endif

// False with a compiler that writes arguments of templates in another way.
template <typename T>
consteval bool can_be_named() {
  return []<size_t... kIndices>(std::index_sequence<kIndices...>) {
    const std::array<std::string_view, sizeof...(kIndices)> names = {kMemberName<T, kIndices>...};
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty()) return false;
      for (size_t j = 0; j < i; ++j)
        if (names[i] == names[j]) return false;
    }
    return true;
  }
  (std::make_index_sequence<num_members<T>()>());
}

// Calls `visit` with each member's name and the member, in their order.
template <typename T, typename Visit>
void for_each_member(T& value, const Visit& visit) {
  static_assert(can_be_named<T>(),
                "crochet does not know the names of this struct's members from this compiler: give "
                "it `void track(crochet::Tracker&)`");
  with_members(value, [&](auto&... members) {
    [&]<size_t... kIndices>(std::index_sequence<kIndices...>) {
      (visit(kMemberName<T, kIndices>, members), ...);
    }
    (std::make_index_sequence<sizeof...(members)>());
  });
}

}  // namespace crochet::inline v0::internal
