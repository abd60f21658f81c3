// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/checkpoint_sidecar.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "crochet/base/error.h"
#include "crochet/base/log.h"

namespace crochet {
namespace {

using nlohmann::json;

// Far more than any sidecar: one that is larger is not read into memory.
constexpr uint64_t kMaxSidecarBytes = uint64_t{16} << 20;

// The system's, since a library has no argv.
std::vector<std::string> own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

json to_json(const CheckpointSidecar& sidecar) {
  return {{"step", sidecar.step},
          {"unix_time", sidecar.unix_time},
          {"size_bytes", sidecar.size_bytes},
          {"index_crc32c", fmt::format("{:08x}", sidecar.index_crc32c)},
          {"library_version", sidecar.library_version},
          {"command_line", sidecar.command_line},
          {"metrics", sidecar.metrics}};
}

uint32_t parse_crc(const std::string& text) {
  size_t used = 0;
  const unsigned long value = text.size() == 8 ? std::stoul(text, &used, 16) : 0;
  if (used != 8) throw DataLossError("index_crc32c is \"{}\", expected 8 hex digits", text);
  return static_cast<uint32_t>(value);
}

// JSON has no NaN: a metric that is not finite is null.
std::map<std::string, double> parse_metrics(const json& values) {
  std::map<std::string, double> metrics;
  for (const auto& [name, value] : values.items())
    metrics[name] =
        value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
  return metrics;
}

CheckpointSidecar from_json(const json& object) {
  CheckpointSidecar sidecar;
  sidecar.step = object.value("step", sidecar.step);
  sidecar.unix_time = object.value("unix_time", sidecar.unix_time);
  sidecar.size_bytes = object.value("size_bytes", sidecar.size_bytes);
  sidecar.index_crc32c = parse_crc(object.value("index_crc32c", "00000000"));
  sidecar.library_version = object.value("library_version", sidecar.library_version);
  sidecar.command_line = object.value("command_line", sidecar.command_line);
  sidecar.metrics = parse_metrics(object.value("metrics", json::object()));
  return sidecar;
}

CheckpointSidecar load(FileSystem& files, const std::string& path) {
  const uint64_t size = files.file_size(path);
  if (size > kMaxSidecarBytes)
    throw DataLossError("{} bytes, the most are {}", size, kMaxSidecarBytes);
  return from_json(json::parse(read_file(files, path)));
}

}  // namespace

std::string sidecar_filename(std::string_view prefix) { return fmt::format("{}.json", prefix); }

void write_sidecar(FileSystem& files, const std::string& prefix, CheckpointSidecar sidecar) {
  if (sidecar.library_version.empty()) sidecar.library_version = CROCHET_VERSION;
  if (sidecar.command_line.empty()) sidecar.command_line = own_command_line();
  // Arguments may be any bytes; those that are not UTF-8 are replaced.
  const std::string text = to_json(sidecar).dump(2, ' ', false, json::error_handler_t::replace);
  replace_file(files, sidecar_filename(prefix), text + "\n");
}

std::optional<CheckpointSidecar> read_sidecar(FileSystem& files, const std::string& prefix) {
  const std::string path = sidecar_filename(prefix);
  try {
    if (files.exists(path)) return load(files, path);
  } catch (const std::exception& error) {
    log_warning("{}: damaged, not used: {}", path, error.what());
  }
  return std::nullopt;
}

}  // namespace crochet
