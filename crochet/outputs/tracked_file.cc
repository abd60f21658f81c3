// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "crochet/outputs/internal/file_state.h"
#include "crochet/outputs/outputs.h"

namespace crochet::inline v0 {

TrackedFile::TrackedFile(std::string path, TrackedFileOptions options) {
  std::string fixed =
      internal::checked_output_path("TrackedFile", path, FileSystem::or_posix(options.files));
  state_ = std::make_shared<internal::FileState>(std::move(fixed), std::move(options));
}

TrackedFile::~TrackedFile() = default;

const std::string& TrackedFile::path() const { return state_->path(); }

void TrackedFile::track(Tracker& tracker) { internal::RunOutput::track(state_, tracker); }

}  // namespace crochet::inline v0
