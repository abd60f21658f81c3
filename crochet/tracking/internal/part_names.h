// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "crochet/base/internal/export.h"
#include "crochet/session/parted_saveable.h"

namespace crochet::inline v0::internal {

// A map's key as a part of a name: "/", "%", control characters and bytes that are not UTF-8 become
// %2F, "" becomes "%".
CROCHET_EXPORT std::string name_of_text(std::string_view key);
// The inverse; unset for any other text.
CROCHET_EXPORT std::optional<std::string> text_of_name(std::string_view name);

// Keys that become names: strings, integers and enumerations.
template <typename K>
concept NamedKey = std::same_as<K, std::string> || std::is_integral_v<K> || std::is_enum_v<K>;

template <typename K>
using KeyNumber = std::conditional_t<
    std::is_signed_v<typename std::conditional_t<std::is_enum_v<K>, std::underlying_type<K>,
                                                 std::type_identity<K>>::type>,
    long long, unsigned long long>;

// Unset for a text that is not a number of this type.
CROCHET_EXPORT std::optional<long long> signed_number(const std::string& text);
CROCHET_EXPORT std::optional<unsigned long long> unsigned_number(const std::string& text);

template <NamedKey K>
std::string name_of_key(const K& key) {
  if constexpr (std::same_as<K, std::string>) {
    return name_of_text(key);
  } else {
    return std::to_string(static_cast<KeyNumber<K>>(key));
  }
}

template <NamedKey K>
std::optional<K> key_of_name(const std::string& name) {
  if constexpr (std::same_as<K, std::string>) {
    return text_of_name(name);
  } else {
    std::optional<KeyNumber<K>> number;
    if constexpr (std::is_signed_v<KeyNumber<K>>) {
      number = signed_number(name);
    } else {
      number = unsigned_number(name);
    }
    if (!number) return std::nullopt;
    const K key = static_cast<K>(*number);
    // Also rejects numbers that the type cannot hold.
    if (name_of_key(key) != name) return std::nullopt;
    return key;
  }
}

}  // namespace crochet::inline v0::internal
