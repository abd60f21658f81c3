// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <string>

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

// Reads a message with readers of single fields, which are below; other fields are skipped.
template <typename... Readers>
void read_fields(protozero::pbf_reader message, const Readers&... readers) {
  while (message.next())
    if (!(readers(message) || ...)) message.skip();
}

// Readers of one field. If it is repeated, those that set `to` keep the last value.
template <typename Use>
auto field_at(auto field, protozero::pbf_wire_type type, Use use) {
  return [tag = wire(field, type), use](protozero::pbf_reader& message) {
    if (message.tag_and_type() != tag) return false;
    use(message);
    return true;
  };
}
template <typename Use>
auto message_at(auto field, Use use) {
  return field_at(field, kBytes, [use](auto& message) { use(message.get_message()); });
}
auto text_at(auto field, std::string& to) {
  return field_at(field, kBytes, [&to](auto& message) { to = message.get_string(); });
}
template <typename Number>
auto number_at(auto field, Number& to) {
  return field_at(field, kVarint,
                  [&to](auto& message) { to = static_cast<Number>(message.get_int64()); });
}
auto double_at(auto field, double& to) {
  return field_at(field, kFixed64, [&to](auto& message) { to = message.get_double(); });
}

// As in protobuf, zero is omitted, but negative zero is not; nor are empty texts written.
inline void add_double_unless_zero(protozero::pbf_writer& message, auto field, double value) {
  if (std::bit_cast<uint64_t>(value) != 0) message.add_double(number(field), value);
}
inline void add_int_unless_zero(protozero::pbf_writer& message, auto field, int64_t value) {
  if (value != 0) message.add_int64(number(field), value);
}
inline void add_text_unless_empty(protozero::pbf_writer& message, auto field,
                                  const std::string& text) {
  if (!text.empty()) message.add_string(number(field), text);
}

}  // namespace crochet::inline v0::internal
