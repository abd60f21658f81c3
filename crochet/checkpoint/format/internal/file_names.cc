// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/format/internal/file_names.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "crochet/base/internal/random.h"

namespace crochet::inline v0::internal {

namespace {

constexpr std::string_view kAttachedInfix = ".file-";

}  // namespace

std::string index_filename(std::string_view prefix) { return fmt::format("{}.index", prefix); }

std::string data_filename(std::string_view prefix, int shard, int num_shards) {
  return fmt::format("{}.data-{:05d}-of-{:05d}", prefix, shard, num_shards);
}

std::string safetensors_filename(std::string_view prefix) {
  return fmt::format("{}.safetensors", prefix);
}

std::string safetensors_index_filename(std::string_view prefix) {
  return fmt::format("{}.safetensors.index.json", prefix);
}

std::string safetensors_shard_filename(std::string_view prefix, int shard, int num_shards) {
  return fmt::format("{}-{:05d}-of-{:05d}.safetensors", prefix, shard + 1, num_shards);
}

std::string attached_filename(std::string_view prefix, std::string_view name) {
  std::string escaped;
  for (const char c : name) escaped += c == '%' ? "%25" : c == '/' ? "%2F" : std::string(1, c);
  return fmt::format("{}{}{}", prefix, kAttachedInfix, escaped);
}

std::string sidecar_filename(std::string_view prefix) { return fmt::format("{}.json", prefix); }

namespace {

constexpr std::string_view kFailedSuffix = ".failed";
constexpr std::string_view kTemporarySuffix = ".tempstate";
constexpr size_t kMinShardDigits = 5;
constexpr size_t kTemporaryHexDigits = 32;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

bool remove_suffix(std::string_view& name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  name.remove_suffix(suffix.size());
  return true;
}

// Removes digits from the end; returns their number.
size_t remove_digits(std::string_view& name) {
  const auto end = std::find_if_not(name.rbegin(), name.rend(), is_digit);
  const auto count = static_cast<size_t>(end - name.rbegin());
  name.remove_suffix(count);
  return count;
}

// Removes "<before><digits>-of-<digits>" from the end. Returns the last digits, the number of
// shards; empty if the name does not end like that.
std::string_view remove_shard(std::string_view& name, std::string_view before) {
  std::string_view rest = name;
  const size_t digits = remove_digits(rest);
  if (digits < kMinShardDigits || !remove_suffix(rest, "-of-")) return {};
  if (remove_digits(rest) < kMinShardDigits || !remove_suffix(rest, before)) return {};
  const std::string_view num_shards = name.substr(name.size() - digits);
  name = rest;
  return num_shards;
}

// Removes the suffix of an index or a data file, and returns which of them it is.
std::optional<CheckpointFilename> remove_state_suffix(std::string_view name) {
  if (remove_suffix(name, ".index") || remove_suffix(name, ".safetensors.index.json"))
    return CheckpointFilename{FileRole::kIndex, name};
  const bool is_safetensors = remove_suffix(name, ".safetensors");
  const std::string_view num_shards = remove_shard(name, is_safetensors ? "-" : ".data-");
  if (!num_shards.empty()) return CheckpointFilename{FileRole::kData, name, num_shards};
  if (is_safetensors) return CheckpointFilename{FileRole::kIndex, name};
  return std::nullopt;
}

// `<base>-<digits>.file-<any text>`: the name may end like any other file's.
std::optional<CheckpointFilename> parse_attached(std::string_view name) {
  const size_t end = name.find(kAttachedInfix);
  if (end == std::string_view::npos || end + kAttachedInfix.size() == name.size()) return {};
  std::string_view base = name.substr(0, end);
  if (remove_digits(base) == 0 || !base.ends_with('-')) return {};
  return CheckpointFilename{FileRole::kAttached, name.substr(0, end)};
}

bool remove_tempstate(std::string_view& name) {
  std::string_view rest = name;
  if (remove_digits(rest) == 0 || !remove_suffix(rest, kTemporarySuffix)) return false;
  name = rest;
  return true;
}

bool remove_tmp(std::string_view& name) {
  if (name.size() < kTemporaryHexDigits) return false;
  std::string_view rest = name.substr(0, name.size() - kTemporaryHexDigits);
  if (!std::ranges::all_of(name.substr(rest.size()), is_hex_digit)) return false;
  if (!remove_suffix(rest, ".tmp")) return false;
  name = rest;
  return true;
}

}  // namespace

std::vector<std::string> index_filenames(std::string_view prefix) {
  return {index_filename(prefix), safetensors_filename(prefix), safetensors_index_filename(prefix)};
}

std::string failed_part_filename(std::string_view prefix) {
  return fmt::format("{}{}", prefix, kFailedSuffix);
}

std::optional<CheckpointFilename> parse_checkpoint_filename(std::string_view name) {
  if (const auto attached = parse_attached(name)) return attached;
  std::string_view part = name;
  remove_tmp(part);
  if (remove_suffix(part, kFailedSuffix) && remove_tempstate(part))
    return CheckpointFilename{FileRole::kTemporary, part};
  if (std::string_view directory = name;
      remove_suffix(directory, kPartsSuffix) && remove_tempstate(directory))
    return CheckpointFilename{FileRole::kTemporaryDirectory, directory};
  const bool is_temporary = remove_tempstate(name);
  const bool is_replacement = !is_temporary && remove_tmp(name);
  if (!is_replacement) {
    if (auto file = remove_state_suffix(name)) {
      const bool is_unpublished = remove_tempstate(file->base);
      if (is_temporary || is_unpublished) file->role = FileRole::kTemporary;
      return file;
    }
  }
  if (is_temporary) return std::nullopt;
  const auto unless_replacement = [&](FileRole part) {
    return is_replacement ? FileRole::kTemporary : part;
  };
  if (remove_suffix(name, ".json"))
    return CheckpointFilename{unless_replacement(FileRole::kSidecar), name};
  if (remove_suffix(name, ".meta"))
    return CheckpointFilename{unless_replacement(FileRole::kMetaGraph), name};
  return std::nullopt;
}

std::optional<int64_t> parse_step(std::string_view base, std::string_view basename) {
  if (!base.starts_with(basename)) return std::nullopt;
  base.remove_prefix(basename.size());
  if (!base.starts_with('-')) return std::nullopt;
  base.remove_prefix(1);
  if (base.empty() || !std::ranges::all_of(base, is_digit)) return std::nullopt;
  int64_t step = 0;
  const auto [end, error] = std::from_chars(base.data(), base.data() + base.size(), step);
  if (error != std::errc()) return std::nullopt;
  return step;
}

std::optional<int64_t> step_of_prefix(std::string_view prefix) {
  const size_t dash = prefix.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  return parse_step(prefix, prefix.substr(0, dash));
}

bool is_temporary_state(std::string_view name, std::string_view latest_filename) {
  return remove_tmp(name) && name == latest_filename;
}

std::string temporary_filename(const std::string& name) {
  return fmt::format("{}{}{}", name, kTemporarySuffix, internal::random_number());
}

}  // namespace crochet::inline v0::internal
