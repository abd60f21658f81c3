// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/format/internal/file_names.h"

namespace crochet::inline v0 {
namespace {

// The longest suffix: "-<19 digits>-00001-of-00001.safetensors.tempstate<20 digits>".
constexpr size_t kMaxBytes = 128;

// True if the listing of a directory recognizes each index "<name>-<digits>".
bool is_recognized(const std::string& name) {
  constexpr std::array<std::string_view, 3> kSteps = {"0", "2000", "00002000"};
  return std::ranges::all_of(kSteps, [&](std::string_view step) {
    const std::string base = fmt::format("{}-{}", name, step);
    return std::ranges::all_of(internal::index_filenames(base), [&](const std::string& index) {
      const auto file = internal::parse_checkpoint_filename(index);
      return file && file->role == internal::FileRole::kIndex && file->base == base &&
             internal::parse_step(file->base, name);
    });
  });
}

}  // namespace

CheckpointBasename::CheckpointBasename(std::string name) : name_(std::move(name)) {
  if (str().size() > kMaxBytes)
    throw InvalidArgumentError(
        fmt::format("\"{}\": found a name of {} bytes for checkpoints, expected at most {}", str(),
                    str().size(), kMaxBytes));
  if (!is_recognized(str()))
    throw InvalidArgumentError(fmt::format(
        "\"{}\": found a name that looks like a part of a checkpoint, expected one whose "
        "checkpoints are found again",
        str()));
}

}  // namespace crochet::inline v0
