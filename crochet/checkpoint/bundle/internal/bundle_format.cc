// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/internal/bundle_format.h"

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "crochet/base/error.h"
#include "crochet/base/internal/proto_fields.h"
#include "crochet/checkpoint/bundle/internal/string_coding.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0::internal {
namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;

// The version of the format that this reader supports, and the oldest producer.
constexpr int32_t kVersion = 1;
constexpr int32_t kMinProducer = 0;
// TensorFlow's shapes have at most this many dimensions.
constexpr size_t kMaxRank = 254;

void put_int32(pbf_writer& message, uint32_t tag, int32_t value) {
  if (value != 0) message.add_int32(tag, value);
}
void put_int64(pbf_writer& message, uint32_t tag, int64_t value) {
  if (value != 0) message.add_int64(tag, value);
}

void read_version(const pbf_reader& message, BundleHeader& header) {
  std::vector<int32_t>& bad = header.bad_consumers;
  read_fields(message, number_at(1, header.producer), number_at(2, header.min_consumer),
              field_at(3, kVarint, [&](pbf_reader& field) { bad.push_back(field.get_int32()); }),
              field_at(3, kBytes, [&](pbf_reader& field) {
                for (const int32_t consumer : field.get_packed_int32()) bad.push_back(consumer);
              }));
}

void check_version(const BundleHeader& header, std::string_view file) {
  if (header.producer < kMinProducer)
    throw InvalidArgumentError(
        fmt::format("{}: Checkpoint producer version {} below min producer {} supported", file,
                    header.producer, kMinProducer));
  if (header.min_consumer > kVersion)
    throw InvalidArgumentError(
        fmt::format("{}: Checkpoint min consumer version {} above current version {}", file,
                    header.min_consumer, kVersion));
  for (const int32_t consumer : header.bad_consumers)
    if (consumer == kVersion)
      throw InvalidArgumentError(
          fmt::format("{}: Checkpoint disallows consumer version {}", file, kVersion));
}

// The content of an entry before it is checked.
struct RawEntry {
  int32_t dtype = 0;
  std::vector<int64_t> dimensions;
  bool unknown_rank = false;
  StoredTensor entry;
};

void read_shape(const pbf_reader& message, RawEntry& raw) {
  read_fields(
      message,
      message_at(2,
                 [&](const pbf_reader& dimension) {
                   read_fields(dimension, number_at(1, raw.dimensions.emplace_back()));
                 }),
      // Not get_bool(): it reads a byte past the end of a message that is truncated here.
      field_at(3, kVarint, [&](pbf_reader& field) { raw.unknown_rank = field.get_uint64() != 0; }));
}

TensorSlice read_slice(const pbf_reader& message) {
  TensorSlice slice;
  read_fields(message, message_at(1, [&](const pbf_reader& field) {
                SliceExtent& extent = slice.emplace_back();
                read_fields(field, number_at(1, extent.start), number_at(2, extent.length));
              }));
  return slice;
}

RawEntry read_entry(const pbf_reader& message) {
  RawEntry raw;
  StoredTensor& entry = raw.entry;
  read_fields(
      message, number_at(1, raw.dtype),
      message_at(2, [&](const pbf_reader& shape) { read_shape(shape, raw); }),
      number_at(3, entry.shard), number_at(4, entry.offset), number_at(5, entry.size),
      field_at(6, protozero::pbf_wire_type::fixed32,
               [&](pbf_reader& field) { entry.masked_crc32c = field.get_fixed32(); }),
      message_at(7, [&](const pbf_reader& slice) { entry.slices.push_back(read_slice(slice)); }));
  return raw;
}

Shape checked_shape(const std::vector<int64_t>& dimensions) {
  for (const int64_t size : dimensions)
    if (size < 0) throw DataLossError(fmt::format("a dimension of size {}", size));
  try {
    return Shape(dimensions);
  } catch (const InvalidArgumentError& error) {
    throw DataLossError(error.what());
  }
}

// Requires: the shape is that of the entry.
void check_size(const StoredTensor& entry) {
  const size_t element_bytes = element_size(entry.dtype);
  if (element_bytes == 0) return;  // Strings and variants store their own size.
  int64_t expected = 0;
  if (__builtin_mul_overflow(entry.shape.num_elements(), element_bytes, &expected))
    throw DataLossError(fmt::format("{} {} has more than 2^63 bytes", entry.dtype, entry.shape));
  if (entry.size != expected)
    throw DataLossError(fmt::format("found {} bytes for {} {}, expected {}", entry.size,
                                    entry.dtype, entry.shape, expected));
}

void check_slices(const StoredTensor& entry) {
  for (const TensorSlice& slice : entry.slices) {
    if (slice.size() != static_cast<size_t>(entry.shape.rank()))
      throw DataLossError(fmt::format("a slice: found {} dimensions, expected {}", slice.size(),
                                      entry.shape.rank()));
    for (const SliceExtent& extent : slice)
      if (extent.start < 0 || extent.length < SliceExtent::kWholeDimension)
        throw DataLossError(
            fmt::format("a slice starts at {} and is {} long", extent.start, extent.length));
  }
}

StoredTensor checked_entry(RawEntry raw) {
  if (!is_valid_dtype(raw.dtype))
    throw DataLossError(fmt::format("unknown element type {}", raw.dtype));
  if (raw.unknown_rank) throw DataLossError("the number of dimensions is unknown");
  if (raw.dimensions.size() > kMaxRank)
    throw DataLossError(
        fmt::format("found {} dimensions, expected at most {}", raw.dimensions.size(), kMaxRank));
  StoredTensor entry = std::move(raw.entry);
  entry.dtype = static_cast<DType>(raw.dtype);
  entry.shape = checked_shape(raw.dimensions);
  check_slices(entry);
  if (!entry.slices.empty()) return entry;
  if (entry.shard < 0 || entry.offset < 0 || entry.size < 0)
    throw DataLossError(
        fmt::format("the location of the data is negative: shard {}, offset {}, size {}",
                    entry.shard, entry.offset, entry.size));
  check_size(entry);
  return entry;
}

void put_shape(pbf_writer& message, const Shape& shape) {
  std::string bytes;
  pbf_writer writer(bytes);
  for (const int64_t size : shape.dimensions()) {
    std::string dimension;
    pbf_writer dimension_writer(dimension);
    put_int64(dimension_writer, 1, size);
    writer.add_message(2, dimension);
  }
  message.add_message(2, bytes);  // Also for a scalar, whose shape is empty.
}

void put_slice(pbf_writer& message, const TensorSlice& slice) {
  std::string bytes;
  pbf_writer writer(bytes);
  for (const SliceExtent& extent : slice) {
    std::string extent_bytes;
    pbf_writer extent_writer(extent_bytes);
    put_int64(extent_writer, 1, extent.start);
    // Presence matters: without a length, the slice covers the whole dimension.
    if (extent.length != SliceExtent::kWholeDimension) extent_writer.add_int64(2, extent.length);
    writer.add_message(1, extent_bytes);
  }
  message.add_message(7, bytes);
}

}  // namespace

uint64_t max_stored_bytes(const Tensor& tensor) {
  if (tensor.dtype() != DType::kString) return tensor.num_bytes() + data_alignment(tensor) - 1;
  return tensor.num_bytes() + max_strings_head_bytes(tensor.num_elements());
}

std::string encode(const BundleHeader& header) {
  std::string version;
  pbf_writer version_writer(version);
  put_int32(version_writer, 1, header.producer);
  put_int32(version_writer, 2, header.min_consumer);
  if (!header.bad_consumers.empty())
    version_writer.add_packed_int32(3, header.bad_consumers.begin(), header.bad_consumers.end());
  std::string bytes;
  pbf_writer writer(bytes);
  put_int32(writer, 1, header.num_shards);
  put_int32(writer, 2, header.big_endian ? 1 : 0);
  writer.add_message(3, version);
  return bytes;
}

std::string encode(const StoredTensor& entry) {
  std::string bytes;
  pbf_writer writer(bytes);
  put_int32(writer, 1, static_cast<int32_t>(entry.dtype));
  put_shape(writer, entry.shape);
  put_int32(writer, 3, entry.shard);
  put_int64(writer, 4, entry.offset);
  put_int64(writer, 5, entry.size);
  if (entry.masked_crc32c != 0) writer.add_fixed32(6, entry.masked_crc32c);
  for (const TensorSlice& slice : entry.slices) put_slice(writer, slice);
  return bytes;
}

BundleHeader decode_header(std::string_view bytes, std::string_view file) {
  BundleHeader header{.num_shards = 0, .producer = 0};
  int32_t endianness = 0;
  try {
    read_fields(pbf_reader(bytes.data(), bytes.size()), number_at(1, header.num_shards),
                number_at(2, endianness),
                message_at(3, [&](const pbf_reader& version) { read_version(version, header); }));
  } catch (const protozero::exception& error) {
    throw DataLossError(fmt::format("{}: the header is malformed: {}", file, error.what()));
  }
  check_version(header, file);
  if (header.num_shards < 1 || header.num_shards > kMaxShards)
    throw DataLossError(fmt::format("{}: header: found {} data files, expected 1 to {}", file,
                                    header.num_shards, kMaxShards));
  if (endianness != 0 && endianness != 1)
    throw DataLossError(
        fmt::format("{}: header: found byte order {}, expected 0 or 1", file, endianness));
  header.big_endian = endianness == 1;
  return header;
}

StoredTensor decode_entry(std::string_view bytes, std::string_view name, std::string_view file) {
  try {
    return checked_entry(read_entry(pbf_reader(bytes.data(), bytes.size())));
  } catch (const DataLossError& error) {
    throw DataLossError(fmt::format("{}: entry \"{}\": {}", file, name, error.what()));
  } catch (const protozero::exception& error) {
    throw DataLossError(fmt::format("{}: entry \"{}\" is malformed: {}", file, name, error.what()));
  }
}

}  // namespace crochet::inline v0::internal
