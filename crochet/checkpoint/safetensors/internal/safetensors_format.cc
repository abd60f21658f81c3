// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/safetensors/internal/safetensors_format.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "crochet/base/error.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {
namespace {

constexpr size_t kHeaderAlignment = 8;
constexpr size_t kMaxShownBytes = 80;

void append_metadata(std::string& json,
                     const std::map<std::string, std::string, std::less<>>& metadata) {
  json += "\"__metadata__\":{";
  for (const auto& [key, value] : metadata) {
    if (json.back() != '{') json += ',';
    json += json_string(key) + ':' + json_string(value);
  }
  json += '}';
}

void append_tensor(std::string& json, const SafetensorsTensor& tensor) {
  fmt::format_to(std::back_inserter(json),
                 R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                 json_string(tensor.name), tensor.type->name,
                 fmt::join(tensor.shape.dimensions(), ","), tensor.begin, tensor.end);
}

}  // namespace

std::string json_string(std::string_view text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw InvalidArgumentError(fmt::format("\"{}\" is not UTF-8, which JSON requires", text));
  }
}

std::string shown(std::string_view text) {
  const nlohmann::json start = text.substr(0, kMaxShownBytes);
  const std::string quoted = start.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.size() <= kMaxShownBytes ? quoted
                                       : fmt::format("{}... ({} bytes)", quoted, text.size());
}

std::string encode(const SafetensorsHeader& header, std::string_view file) {
  std::string bytes(kSafetensorsLengthBytes, '\0');
  bytes += '{';
  if (!header.metadata.empty()) append_metadata(bytes, header.metadata);
  for (const SafetensorsTensor& tensor : header.tensors) {
    if (bytes.back() != '{') bytes += ',';
    append_tensor(bytes, tensor);
  }
  bytes += '}';
  while (bytes.size() % kHeaderAlignment != 0) bytes += ' ';
  uint64_t length = bytes.size() - kSafetensorsLengthBytes;
  if (length > kMaxSafetensorsHeaderBytes)
    throw InvalidArgumentError(fmt::format(
        "{}: the header of {} tensors has {} bytes, but the format allows {}; use more data files",
        file, header.tensors.size(), length, kMaxSafetensorsHeaderBytes));
  for (size_t i = 0; i < kSafetensorsLengthBytes; ++i, length >>= 8)
    bytes[i] = static_cast<char>(length & 0xff);
  return bytes;
}

}  // namespace crochet::inline v0::internal
