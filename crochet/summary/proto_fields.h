// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace crochet::inline v0::internal {

// Field numbers are enums of their messages.
template <typename Field>
constexpr protozero::pbf_tag_type number(Field field) {
  return static_cast<protozero::pbf_tag_type>(field);
}

// A field with its wire type: a known number with another type is skipped like
// an unknown field.
constexpr uint32_t wire(auto field, protozero::pbf_wire_type type) {
  return protozero::tag_and_type(number(field), type);
}

inline constexpr auto kVarint = protozero::pbf_wire_type::varint;
inline constexpr auto kFixed32 = protozero::pbf_wire_type::fixed32;
inline constexpr auto kFixed64 = protozero::pbf_wire_type::fixed64;
inline constexpr auto kBytes = protozero::pbf_wire_type::length_delimited;

// As in protobuf, zero is omitted, but negative zero is not.
inline void add_double_unless_zero(protozero::pbf_writer& message, auto field, double value) {
  if (std::bit_cast<uint64_t>(value) != 0) message.add_double(number(field), value);
}

}  // namespace crochet::inline v0::internal
