// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>

#include "crochet/base/error.h"

namespace crochet::inline v0::tensorflow::internal {

inline constexpr auto kVarint = protozero::pbf_wire_type::varint;
inline constexpr auto kBytes = protozero::pbf_wire_type::length_delimited;

// A field with its wire type: a known number with another wire type is
// skipped like an unknown field.
constexpr uint32_t varint_field(uint32_t number) {
  return protozero::tag_and_type(number, kVarint);
}
constexpr uint32_t bytes_field(uint32_t number) { return protozero::tag_and_type(number, kBytes); }

inline std::string_view view_of(protozero::data_view view) { return {view.data(), view.size()}; }

// A message in a file, with its location for error messages: "digits.meta: meta_info_def".
class ProtoReader {
 public:
  ProtoReader(std::string_view bytes, std::string place)
      : message_(bytes.data(), bytes.size()), place_(std::move(place)) {}

  // Calls `read(field, *this)` for each field; it reads the field's value with one of the functions
  // below and returns true, or returns false and the field is skipped.
  // Throws: DataLossError with the location for bytes that are not a message.
  template <typename Read>
  void for_each_field(Read read) {
    try {
      while (message_.next())
        if (!read(message_.tag_and_type(), *this)) message_.skip();
    } catch (const protozero::exception& error) {
      throw DataLossError(
          fmt::format("{}: damaged or not a MetaGraphDef: {}", place_, error.what()));
    }
  }

  // Reads the message with readers of single fields, which are below; other fields are skipped.
  // Throws: as for_each_field().
  template <typename... Readers>
  void read(const Readers&... readers) {
    for_each_field(
        [&](uint32_t field, ProtoReader& value) { return (readers(field, value) || ...); });
  }

  // The value of the current field.
  std::string_view view() { return view_of(message_.get_view()); }
  std::string text() { return std::string(view()); }
  uint64_t varint() { return message_.get_uint64(); }
  int64_t int64() { return message_.get_int64(); }
  // Not pbf_reader's, which reads a byte past the end of a truncated message.
  bool boolean() { return varint() != 0; }
  // The message in the field; its location is "<file>: <name>", or "<location>.<name>" if nested.
  ProtoReader message(std::string_view name) {
    const std::string_view bytes = view();
    const char* const separator = place_.find(": ") == std::string::npos ? ": " : ".";
    return {bytes, place_ + separator + std::string(name)};
  }
  // Appends the values of a repeated integer field, which may be packed.
  void append_integers(uint32_t tag_and_type, std::vector<int64_t>& numbers) {
    if (tag_and_type == varint_field(tag_and_type >> 3)) return numbers.push_back(int64());
    for (const int64_t number : message_.get_packed_int64()) numbers.push_back(number);
  }

  const std::string& place() const { return place_; }

 private:
  protozero::pbf_reader message_;
  std::string place_;
};

// Readers of the field `number`. If it is repeated, those that set `to` keep the last value.
template <typename Use>
auto bytes_at(uint32_t number, Use use) {
  return [number, use](uint32_t field, ProtoReader& value) {
    if (field != bytes_field(number)) return false;
    use(value);
    return true;
  };
}
template <typename Use>
auto varint_at(uint32_t number, Use use) {
  return [number, use](uint32_t field, ProtoReader& value) {
    if (field != varint_field(number)) return false;
    use(value);
    return true;
  };
}
// Calls `use` with the message in the field; `name` is its location, as in ProtoReader::message().
template <typename Use>
auto message_at(uint32_t number, std::string_view name, Use use) {
  return bytes_at(number, [name, use](ProtoReader& value) { use(value.message(name)); });
}
inline auto text_at(uint32_t number, std::string& to) {
  return bytes_at(number, [&to](ProtoReader& value) { to = value.view(); });
}
inline auto view_at(uint32_t number, std::string_view& to) {
  return bytes_at(number, [&to](ProtoReader& value) { to = value.view(); });
}
template <typename Texts>
auto texts_at(uint32_t number, Texts& to) {
  return bytes_at(number, [&to](ProtoReader& value) { to.emplace_back(value.view()); });
}
template <typename Number>
auto number_at(uint32_t number, Number& to) {
  return varint_at(number, [&to](ProtoReader& value) { to = static_cast<Number>(value.int64()); });
}
inline auto flag_at(uint32_t number, bool& to) {
  return varint_at(number, [&to](ProtoReader& value) { to = value.boolean(); });
}
inline auto numbers_at(uint32_t number, std::vector<int64_t>& to) {
  return [number, &to](uint32_t field, ProtoReader& value) {
    if (field != varint_field(number) && field != bytes_field(number)) return false;
    value.append_integers(field, to);
    return true;
  };
}

// An entry of a map from text to messages.
struct MapEntry {
  std::string key;
  std::string_view value;  // Refers to the input bytes.
};
inline MapEntry read_map_entry(ProtoReader entry) {
  MapEntry result;
  entry.read(text_at(1, result.key), view_at(2, result.value));
  return result;
}

}  // namespace crochet::inline v0::tensorflow::internal
