// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "crochet/engines/tensorflow/cluster_spec.h"
#include "crochet/engines/tensorflow/internal/graph_def.h"

namespace crochet::inline v0::tensorflow {
namespace {

using internal::is_digit;
using internal::is_letter;

constexpr std::string_view kAny = "*";

// Each parses the value of one part; false if it is invalid.
bool take_word(std::string_view text, std::optional<std::string>& word) {
  word.reset();
  if (text == kAny) return true;
  if (!is_legal_job_name(text)) return false;
  word.emplace(text);
  return true;
}

bool take_index(std::string_view text, std::optional<int>& index) {
  index.reset();
  if (text == kAny) return true;
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || !is_digit(text.front()) || behind != end || error != std::errc())
    return false;
  index = number;
  return true;
}

// "CPU:0" or "CPU".
bool take_device(std::string_view text, DeviceName& device) {
  const size_t colon = text.find(':');
  device.index.reset();
  return take_word(text.substr(0, colon), device.type) &&
         (colon == std::string_view::npos || take_index(text.substr(colon + 1), device.index));
}

bool take_part(std::string_view key, std::string_view value, DeviceName& device) {
  if (key == "job") return take_word(value, device.job);
  if (key == "replica") return take_index(value, device.replica);
  if (key == "task") return take_index(value, device.task);
  if (key == "device") return take_device(value, device);
  const bool is_cpu = key == "cpu" || key == "CPU";
  if (!is_cpu && key != "gpu" && key != "GPU") return false;
  device.type = is_cpu ? "CPU" : "GPU";
  return take_index(value, device.index);
}

template <typename Value>
void append_part(std::string& text, const char* key, const std::optional<Value>& value) {
  if (value) fmt::format_to(std::back_inserter(text), "/{}:{}", key, *value);
}

}  // namespace

std::optional<DeviceName> parse_device_name(std::string_view text) {
  DeviceName device;
  while (!text.empty()) {
    if (text.front() != '/') return std::nullopt;
    const size_t end = std::min(text.find('/', 1), text.size());
    const std::string_view part = text.substr(1, end - 1);
    text.remove_prefix(end);
    const size_t colon = part.find(':');
    if (colon == std::string_view::npos ||
        !take_part(part.substr(0, colon), part.substr(colon + 1), device))
      return std::nullopt;
  }
  return device;
}

std::string to_string(const DeviceName& device) {
  std::string text;
  append_part(text, "job", device.job);
  append_part(text, "replica", device.replica);
  append_part(text, "task", device.task);
  if (!device.type && !device.index) return text;
  text += "/device:" + device.type.value_or(std::string(kAny));
  if (device.index) text += fmt::format(":{}", *device.index);
  return text;
}

bool is_legal_job_name(std::string_view name) {
  return !name.empty() && is_letter(name.front()) &&
         std::ranges::all_of(name, [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

}  // namespace crochet::inline v0::tensorflow
