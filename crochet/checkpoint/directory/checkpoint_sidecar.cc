// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "crochet/base/error.h"
#include "crochet/base/internal/parse_json.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/io/internal/untrusted_file.h"
#include "crochet/version.h"

namespace crochet::inline v0 {
namespace {

using nlohmann::json;

// Far more than any real sidecar: larger ones are neither read into memory nor written.
// The year 9999: a later time is an error, and would make sums of times inexact.
constexpr double kMaxTime = 253'402'300'799;

// Changing a sidecar takes milliseconds.
constexpr std::chrono::seconds kLockLimit(10);

// The words for Better::kLower and kHigher.
constexpr std::array<const char*, 2> kBetter = {"lower", "higher"};

// Text by text: an array that is only half constructed when memory is short cannot be destroyed.
void fill_list(json& list, const std::vector<std::string>& texts) {
  list = json(json::value_t::array);
  for (const std::string& text : texts) list.push_back(text);
}

void fill(json& object, const CheckpointSidecar& sidecar) {
  // Not by its first member: that leaves no valid value if memory is short.
  object = json(json::value_t::object);
  object["step"] = sidecar.step;
  object["unix_time"] = sidecar.unix_time;
  object["retention_time"] = sidecar.retention_time;
  object["size_bytes"] = sidecar.size_bytes;
  object["shared_bytes"] = sidecar.shared_bytes;
  object["index_crc32c"] = fmt::format("{:08x}", sidecar.index_crc32c);
  object["library_version"] = sidecar.library_version;
  object["build"] = sidecar.build;
  fill_list(object["command_line"], sidecar.command_line);
  object["threads"] = sidecar.threads;
  json& metrics = object["metrics"] = json(json::value_t::object);
  for (const auto& [metric, value] : sidecar.metrics) metrics[metric] = value;
  json& better = object["better"] = json(json::value_t::object);
  for (const auto& [metric, which] : sidecar.better)
    better[metric] = kBetter[static_cast<size_t>(which)];
  object["went_back_to"] = sidecar.went_back_to;
  fill_list(object["renamed"], sidecar.renamed);
  json& initial = object["initial_values"] = json(json::value_t::object);
  for (const auto& [name, text] : sidecar.initial_values) initial[name] = text;
  object["pinned"] = sidecar.pinned;
  object["preserved"] = sidecar.preserved;
}

[[noreturn]] void throw_wrong(const std::string& name, const json& value, const char* expected) {
  std::string found = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (found.size() > 40) found = found.substr(0, 40) + "...";
  throw DataLossError(fmt::format("{} is {}, expected {}", name, found, expected));
}

// A member of the type that `is` checks, or null if there is none.
const json* member(const json& object, const char* name, bool (json::*is)() const noexcept,
                   const char* expected) {
  const auto found = object.find(name);
  if (found == object.end()) return nullptr;
  if (!((*found).*is)()) throw_wrong(name, *found, expected);
  return &*found;
}

std::string get_string(const json& object, const char* name) {
  const json* const value = member(object, name, &json::is_string, "a string");
  return value ? value->get<std::string>() : "";
}

bool get_bool(const json& object, const char* name) {
  const json* const value = member(object, name, &json::is_boolean, "true or false");
  return value && value->get<bool>();
}

int64_t get_step(const json& object) {
  const json* const value = member(object, "step", &json::is_number_integer, "an integer");
  if (value == nullptr) return 0;
  if (value->is_number_unsigned() &&
      value->get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()})
    throw_wrong("step", *value, "less than 2^63");
  return value->get<int64_t>();
}

uint64_t get_size(const json& object, const char* name) {
  const json* const value =
      member(object, name, &json::is_number_unsigned, "an integer of 0 or more");
  return value ? value->get<uint64_t>() : 0;
}

double get_time(const json& object, const char* name) {
  const json* const value = member(object, name, &json::is_number, "a number");
  const double time = value ? value->get<double>() : 0;
  if (!(time >= 0 && time <= kMaxTime)) throw_wrong(name, *value, "seconds since 1970");
  return time;
}

uint32_t get_crc(const json& object) {
  const std::string text = get_string(object, "index_crc32c");
  if (text.empty() && !object.contains("index_crc32c")) return 0;
  uint32_t crc = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), crc, 16);
  if (text.size() != 8 || error != std::errc() || end != text.data() + text.size())
    throw_wrong("index_crc32c", object["index_crc32c"], "8 hex digits");
  return crc;
}

std::vector<std::string> get_strings(const json& object, const char* name) {
  const json* const values = member(object, name, &json::is_array, "a list");
  std::vector<std::string> strings;
  if (values == nullptr) return strings;
  for (const json& value : *values) {
    if (!value.is_string()) throw_wrong(fmt::format("an element of {}", name), value, "a string");
    strings.push_back(value.get<std::string>());
  }
  return strings;
}

// JSON has no NaN: a metric that is not finite is null.
std::map<std::string, double> get_metrics(const json& object) {
  const json* const values = member(object, "metrics", &json::is_object, "an object");
  std::map<std::string, double> metrics;
  if (values == nullptr) return metrics;
  for (const auto& [name, value] : values->items()) {
    if (!value.is_null() && !value.is_number()) throw_wrong(name, value, "a number or null");
    metrics[name] =
        value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
  }
  return metrics;
}

std::map<std::string, std::string> get_texts(const json& object, const char* name) {
  const json* const values = member(object, name, &json::is_object, "an object");
  std::map<std::string, std::string> texts;
  if (values == nullptr) return texts;
  for (const auto& [key, value] : values->items()) {
    if (!value.is_string()) throw_wrong(key, value, "a string");
    texts.emplace(key, value.get<std::string>());
  }
  return texts;
}

std::map<std::string, Better> get_better(const json& object) {
  const json* const values = member(object, "better", &json::is_object, "an object");
  std::map<std::string, Better> better;
  if (values == nullptr) return better;
  for (const auto& [metric, word] : values->items()) {
    const auto* const text = word.get_ptr<const std::string*>();
    const auto* const found = std::ranges::find_if(
        kBetter, [text](const char* known) { return text != nullptr && *text == known; });
    if (found == kBetter.end()) throw_wrong(metric, word, "\"lower\" or \"higher\"");
    better[metric] = static_cast<Better>(found - kBetter.begin());
  }
  return better;
}

CheckpointSidecar from_json(const json& object) {
  if (!object.is_object()) throw_wrong("the file", object, "an object");
  return {.step = get_step(object),
          .unix_time = get_time(object, "unix_time"),
          .retention_time = get_time(object, "retention_time"),
          .size_bytes = get_size(object, "size_bytes"),
          .shared_bytes = get_size(object, "shared_bytes"),
          .index_crc32c = get_crc(object),
          .library_version = get_string(object, "library_version"),
          .build = get_string(object, "build"),
          .command_line = get_strings(object, "command_line"),
          .threads = get_string(object, "threads"),
          .metrics = get_metrics(object),
          .better = get_better(object),
          .went_back_to = get_string(object, "went_back_to"),
          .renamed = get_strings(object, "renamed"),
          .initial_values = get_texts(object, "initial_values"),
          .pinned = get_bool(object, "pinned"),
          .preserved = get_bool(object, "preserved")};
}

// A sidecar created from the checkpoint's files. It has no checksum of the index, since the writer
// is unknown.
CheckpointSidecar made_anew(FileSystem& files, const std::string& prefix) {
  const double time = files.modified_time(
      internal::find_index(files, prefix).value_or(internal::index_filename(prefix)));
  return {.step = internal::step_of_prefix(prefix).value_or(-1),
          .unix_time = std::clamp(time, 0.0, kMaxTime),
          .library_version = "unknown",
          .build = "unknown",
          .command_line = {"unknown"}};
}

}  // namespace

std::unique_ptr<FileLock> internal::lock_sidecars(FileSystem& files, const std::string& directory) {
  const std::string path = join_path(directory, ".sidecar_lock");
  std::unique_ptr<FileLock> lock;
  try {
    lock = try_lock_for(files, path, kLockLimit);
  } catch (const UnimplementedError&) {
    const auto held = internal::DirectoryLock::held_here(files, directory);
    if (!held || held->kind() != internal::DirectoryLock::Kind::kNone) throw;
    return nullptr;
  }
  if (!lock)
    throw DeadlineExceededError(
        fmt::format("{}: another process has held the lock for {} s", path, kLockLimit.count()));
  return lock;
}

std::string threads_here() {
  std::string threads = fmt::format("{} cores", std::thread::hardware_concurrency());
  if (const char* const number = std::getenv("OMP_NUM_THREADS"))
    threads += fmt::format(", OMP_NUM_THREADS={:.40}", number);
  return threads;
}

void write_sidecar(FileSystem& files, const std::string& prefix, CheckpointSidecar sidecar) {
  if (sidecar.library_version.empty()) sidecar.library_version = CROCHET_VERSION;
  if (sidecar.build.empty()) sidecar.build = CROCHET_BUILD;
  // Arguments may be any bytes; those that are not UTF-8 are replaced.
  internal::JsonTree tree;
  fill(tree.root, sidecar);
  const std::string text = tree.root.dump(2, ' ', false, json::error_handler_t::replace);
  const std::string path = internal::sidecar_filename(prefix);
  if (text.size() >= internal::kMaxSidecarBytes)
    throw InvalidArgumentError(fmt::format("{}: found {} bytes to write, expected at most {}", path,
                                           text.size() + 1, internal::kMaxSidecarBytes));
  replace_file(files, path, text + "\n");
}

std::optional<CheckpointSidecar> load_sidecar(FileSystem& files, const std::string& prefix) {
  const std::string path = internal::sidecar_filename(prefix);
  std::string text;
  try {
    text = internal::read_untrusted_file(files, path, internal::kMaxSidecarBytes);
  } catch (const NotFoundError&) {
    return std::nullopt;
  }
  internal::JsonTree tree;
  internal::with_bounded_memory(path, [&] { internal::parse_json(text, path, tree); });
  try {
    return from_json(tree.root);
  } catch (const DataLossError& error) {
    throw DataLossError(fmt::format("{}: {}", path, error.what()));
  }
}

std::optional<CheckpointSidecar> read_sidecar(FileSystem& files, const std::string& prefix) {
  try {
    return internal::load_if_sound(files, prefix);
  } catch (const Error& error) {
    log_warning(fmt::format("the sidecar of {} cannot be read now: {}", prefix, error.what()));
    return std::nullopt;
  }
}

std::optional<CheckpointSidecar> internal::load_if_sound(FileSystem& files,
                                                         const std::string& prefix) {
  try {
    return load_sidecar(files, prefix);
  } catch (const DataLossError& error) {
    log_warning(fmt::format("{}: damaged and not used: {}", internal::sidecar_filename(prefix),
                            error.what()));
    return std::nullopt;
  }
}

void update_sidecar(FileSystem& files, const std::string& prefix,
                    const std::function<void(CheckpointSidecar& sidecar)>& change) {
  const auto check_there = [&] {
    if (!internal::find_index(files, prefix))
      throw NotFoundError(fmt::format("{}: there is no such checkpoint", prefix));
  };
  check_there();
  const auto lock = internal::lock_sidecars(files, directory_of(prefix));
  std::optional<CheckpointSidecar> sidecar = internal::load_if_sound(files, prefix);
  if (!sidecar) sidecar = made_anew(files, prefix);
  change(*sidecar);
  write_sidecar(files, prefix, *sidecar);
  if (internal::find_index(files, prefix)) return;
  // Its saver has removed it meanwhile, perhaps before this sidecar was written.
  files.remove(internal::sidecar_filename(prefix));
  check_there();
}

void record_metrics(FileSystem& files, const std::string& prefix,
                    const std::map<std::string, double>& metrics) {
  update_sidecar(files, prefix, [&](CheckpointSidecar& sidecar) {
    for (const auto& [name, value] : metrics) sidecar.metrics[name] = value;
  });
}

void set_pinned(FileSystem& files, const std::string& prefix, bool pinned) {
  update_sidecar(files, prefix, [&](CheckpointSidecar& sidecar) { sidecar.pinned = pinned; });
}

}  // namespace crochet::inline v0
