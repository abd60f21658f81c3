// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/own_files.h"

#include <algorithm>
#include <string>

#include "crochet/checkpoint/directory/internal/fallback_record.h"
#include "crochet/checkpoint/directory/internal/fast_place.h"
#include "crochet/checkpoint/format/internal/file_names.h"

namespace crochet::inline v0::internal {
namespace {

constexpr std::string_view kStateFile = "checkpoint";
constexpr std::string_view kRecords[] = {kStateFile,         ".lock",         ".sidecar_lock",
                                         "graph.pbtxt",      "metrics.jsonl", "events.jsonl",
                                         "events.old.jsonl", "control.json",  "control.taken",
                                         "control.answer",   "control.limit"};
constexpr std::string_view kSetAsideSuffixes[] = {".damaged", ".abandoned", ".replaced"};

bool is_record(std::string_view name) {
  return std::ranges::find(kRecords, name) != std::end(kRecords) ||
         name.starts_with("events.out.tfevents.") || is_fallback_record(name) ||
         is_fast_record(name);
}

// "<file of a checkpoint>.damaged", or the same followed by "-2", "-3" ...
bool is_set_aside(std::string_view name) {
  return std::ranges::any_of(kSetAsideSuffixes, [&](std::string_view suffix) {
    const size_t place = name.rfind(suffix);
    if (place == std::string_view::npos) return false;
    const std::string_view rest = name.substr(place + suffix.size());
    const bool is_suffix = rest.empty() || step_of_prefix(std::string("x") + std::string(rest));
    return is_suffix && parse_checkpoint_filename(name.substr(0, place)).has_value();
  });
}

}  // namespace

OwnFile own_file(std::string_view name) {
  if (is_record(name)) return OwnFile::kRecord;
  if (is_temporary_state(name, kStateFile)) return OwnFile::kTemporaryState;
  if (parse_checkpoint_filename(name)) return OwnFile::kCheckpoint;
  return is_set_aside(name) ? OwnFile::kSetAside : OwnFile::kNone;
}

}  // namespace crochet::inline v0::internal
